import { keepPostgresLabs } from "../../../test/support/postgres-labs.ts";
import { describeWith } from "../../../test/support/services.ts";
import { bookkeepingContract } from "./contracts/bookkeeping.contract.ts";
import { hindrancesContract } from "./contracts/hindrances.contract.ts";
import { placingContract } from "./contracts/placing.contract.ts";

describeWith("postgres", "a dispatcher on PostgreSQL", ({ url }) => {
  const openLab = keepPostgresLabs(url);
  placingContract(openLab);
  bookkeepingContract(openLab);
  hindrancesContract(openLab);
});
