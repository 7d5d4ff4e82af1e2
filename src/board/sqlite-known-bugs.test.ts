import { describe } from "vitest";
import { openSqliteLab } from "../../test/support/board-lab.ts";
import { loadSqlite } from "../lib/sqlite.ts";
import { boardPath } from "./board-slug.ts";
import { knownBugsContract } from "./known-bugs.contract.ts";

const Sqlite = await loadSqlite();

describe("a board on SQLite", () => {
  knownBugsContract({
    openLab: openSqliteLab,
    async holdWrites({ place }) {
      const connection = new Sqlite(boardPath(place.root, place.slug));
      connection.exec("begin immediate");
      return { [Symbol.asyncDispose]: async () => void connection.close() };
    },
  });
});
