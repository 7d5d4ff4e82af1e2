import pg from "pg";
import { openPostgresLab } from "../../test/support/board-lab.ts";
import { describeWith } from "../../test/support/services.ts";
import { boardSchemaName } from "./board-slug.ts";
import { knownBugsContract } from "./known-bugs.contract.ts";

describeWith("postgres", "a board on PostgreSQL", ({ url }) => {
  knownBugsContract({
    openLab: () => openPostgresLab(url),
    async holdWrites({ place }) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query("begin");
      await client.query(`lock table "${boardSchemaName(place.slug)}".task in exclusive mode`);
      return { [Symbol.asyncDispose]: () => client.end() };
    },
  });
});
