import pg from "pg";
import { boardSchemaName } from "../../src/board/board-slug.ts";
import { openPostgresLab } from "../support/board-lab.ts";
import { describeWith } from "../support/services.ts";
import { knownBugsContract } from "./known-bugs.contract.ts";

describeWith("postgres", "a board on PostgreSQL", ({ url }) => {
  knownBugsContract({
    openLab: () => openPostgresLab(url),
    async holdWrites({ location }) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query("begin");
      await client.query(`lock table "${boardSchemaName(location.slug)}".task in exclusive mode`);
      return { [Symbol.asyncDispose]: () => client.end() };
    },
  });
});
