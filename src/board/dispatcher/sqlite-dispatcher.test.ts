import { describe } from "vitest";
import { openSqliteLab } from "../../../test/support/board-lab.ts";
import { bookkeepingContract } from "./contracts/bookkeeping.contract.ts";
import { hindrancesContract } from "./contracts/hindrances.contract.ts";
import { placingContract } from "./contracts/placing.contract.ts";

describe("a dispatcher on SQLite", () => {
  placingContract(openSqliteLab);
  bookkeepingContract(openSqliteLab);
  hindrancesContract(openSqliteLab);
});
