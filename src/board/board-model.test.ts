import { describe } from "vitest";
import { openPostgresLab, openSqliteLab } from "../../test/support/board-lab.ts";
import { describeWith } from "../../test/support/services.ts";
import { modelContract } from "./contracts/model.contract.ts";

describe("a model of the board beside SQLite", () => modelContract(openSqliteLab));

describeWith("postgres", "a model of the board beside PostgreSQL", ({ url }) =>
  modelContract(() => openPostgresLab(url)),
);
