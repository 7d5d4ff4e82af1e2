import { keepPostgresLabs } from "../../support/postgres-labs.ts";
import { describeWith } from "../../support/services.ts";
import { bookkeepingContract } from "./bookkeeping.contract.ts";
import { guardsContract } from "./guards.contract.ts";
import { startingContract } from "./starting.contract.ts";

describeWith("postgres", "a dispatcher on PostgreSQL", ({ url }) => {
  const openLab = keepPostgresLabs(url);
  startingContract(openLab);
  bookkeepingContract(openLab);
  guardsContract(openLab);
});
