import { keepPostgresLabs } from "../support/postgres-labs.ts";
import { describeWith } from "../support/services.ts";
import { boardStoreContract } from "./board-store.contract.ts";
import { profileNamesContract } from "./profile-names.contract.ts";

describeWith("postgres", "a board in PostgreSQL", ({ url }) => {
  const openLab = keepPostgresLabs(url);
  boardStoreContract(openLab);
  profileNamesContract(openLab);
});
