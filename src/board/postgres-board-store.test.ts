import { openPostgresLab } from "../../test/support/board-lab.ts";
import { describeWith } from "../../test/support/services.ts";
import { boardStoreContract } from "./contracts/board-store.contract.ts";
import { profileNamesContract } from "./contracts/profile-names.contract.ts";

describeWith("postgres", "a board in PostgreSQL", ({ url }) =>
  boardStoreContract(() => openPostgresLab(url)),
);
describeWith("postgres", "a board in PostgreSQL", ({ url }) =>
  profileNamesContract(() => openPostgresLab(url)),
);
