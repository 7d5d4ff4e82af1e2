import { describe } from "vitest";
import { openSqliteLab } from "../../test/support/board-lab.ts";
import { boardStoreContract } from "./contracts/board-store.contract.ts";
import { profileNamesContract } from "./contracts/profile-names.contract.ts";

describe("a board in SQLite", () => boardStoreContract(openSqliteLab));
describe("a board in SQLite", () => profileNamesContract(openSqliteLab));
