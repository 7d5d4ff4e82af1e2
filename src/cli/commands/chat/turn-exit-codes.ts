import type { TurnOutcome } from "../../../agent/events.ts";

/** The exit code of a single run, by how its turn ended. */
export const TURN_EXIT_CODES: { readonly [Outcome in TurnOutcome]: number } = {
  completed: 0,
  failed: 1,
  budget: 3,
  cut: 4,
  refused: 5,
  stopped: 130,
};
