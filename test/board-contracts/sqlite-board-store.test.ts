import { describe } from "vitest";
import { openSqliteLab } from "../support/board-lab.ts";
import { boardStoreContract } from "./board-store.contract.ts";
import { profileNamesContract } from "./profile-names.contract.ts";

describe("a board in SQLite", () => boardStoreContract(openSqliteLab));
describe("a board in SQLite", () => profileNamesContract(openSqliteLab));
