import { describe } from "vitest";
import { openSqliteLab } from "../../support/board-lab.ts";
import { bookkeepingContract } from "./bookkeeping.contract.ts";
import { guardsContract } from "./guards.contract.ts";
import { startingContract } from "./starting.contract.ts";

describe("a dispatcher on SQLite", () => {
  startingContract(openSqliteLab);
  bookkeepingContract(openSqliteLab);
  guardsContract(openSqliteLab);
});
