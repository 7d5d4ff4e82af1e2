import { openPostgresLab } from "../../test/support/board-lab.ts";
import { describeWith } from "../../test/support/services.ts";
import { boardStoreContract } from "./contracts/board-store.contract.ts";

describeWith("postgres", "a board in PostgreSQL", ({ url }) =>
  boardStoreContract(() => openPostgresLab(url)),
);
