import { keepPostgresLabs } from "../../test/support/postgres-labs.ts";
import { describeWith } from "../../test/support/services.ts";
import { boardStoreContract } from "./contracts/board-store.contract.ts";
import { profileNamesContract } from "./contracts/profile-names.contract.ts";

describeWith("postgres", "a board in PostgreSQL", ({ url }) => {
  const openLab = keepPostgresLabs(url);
  boardStoreContract(openLab);
  profileNamesContract(openLab);
});
