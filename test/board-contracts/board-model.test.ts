import { describe } from "vitest";
import { openPostgresLab, openSqliteLab } from "../support/board-lab.ts";
import { describeWith } from "../support/services.ts";
import { modelContract } from "./model.contract.ts";

describe("a model of the board compared with SQLite", () => modelContract(openSqliteLab));

describeWith("postgres", "a model of the board compared with PostgreSQL", ({ url }) =>
  modelContract(() => openPostgresLab(url)),
);
