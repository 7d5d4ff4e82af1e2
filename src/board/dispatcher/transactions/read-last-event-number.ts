import { only, type Steps } from "../../database/steps.ts";

/** The number of the last event; it changes with every change of the board. */
export function* readLastEventNumber(): Steps<number> {
  const { value } = yield* only<{ value: number }>("select value from counter where name = 'event'");
  return value;
}
