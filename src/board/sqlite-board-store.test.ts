import { describe } from "vitest";
import { openSqliteLab } from "../../test/support/board-lab.ts";
import { boardStoreContract } from "./contracts/board-store.contract.ts";

describe("a board in SQLite", () => boardStoreContract(openSqliteLab));
