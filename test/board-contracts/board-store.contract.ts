import type { BoardLab } from "../support/board-lab.ts";
import { cardsContract } from "./cards.contract.ts";
import { claimsContract } from "./claims.contract.ts";
import { descriptionsContract } from "./descriptions.contract.ts";
import { rightsContract } from "./rights.contract.ts";
import { tasksContract } from "./tasks.contract.ts";
import { transferContract } from "./transfer.contract.ts";
import { transitionsContract } from "./transitions.contract.ts";

/** The behaviour that a board guarantees on both databases. */
export function boardStoreContract(openLab: () => Promise<BoardLab>): void {
  transitionsContract(openLab);
  tasksContract(openLab);
  claimsContract(openLab);
  rightsContract(openLab);
  transferContract(openLab);
  descriptionsContract(openLab);
  cardsContract(openLab);
}
