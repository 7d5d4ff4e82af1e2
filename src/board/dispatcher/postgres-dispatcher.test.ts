import { openPostgresLab } from "../../../test/support/board-lab.ts";
import { describeWith } from "../../../test/support/services.ts";
import { bookkeepingContract } from "./contracts/bookkeeping.contract.ts";
import { hindrancesContract } from "./contracts/hindrances.contract.ts";
import { placingContract } from "./contracts/placing.contract.ts";

describeWith("postgres", "a dispatcher on PostgreSQL", ({ url }) => {
  placingContract(() => openPostgresLab(url));
  bookkeepingContract(() => openPostgresLab(url));
  hindrancesContract(() => openPostgresLab(url));
});
