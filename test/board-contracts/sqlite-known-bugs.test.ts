import { describe } from "vitest";
import { boardPath } from "../../src/board/board-slug.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";
import { openSqliteLab } from "../support/board-lab.ts";
import { knownBugsContract } from "./known-bugs.contract.ts";

const Sqlite = await loadSqlite();

describe("a board on SQLite", () => {
  knownBugsContract({
    openLab: openSqliteLab,
    async holdWrites({ location }) {
      const connection = new Sqlite(boardPath(location.root, location.slug));
      connection.exec("begin immediate");
      return { [Symbol.asyncDispose]: async () => void connection.close() };
    },
  });
});
