import { findHindered } from "../../../../board/dispatcher/find-hindered.ts";
import { type Why, whyNotRunning } from "../../../../board/dispatcher/why.ts";
import type { OpenDesk } from "../desk.ts";
import { openDispatch, ownDispatcher } from "./open-dispatch.ts";

/** What a dispatcher on this host knows: which tasks cannot go on, and why others wait. Changes nothing. */
export async function loadHindrances(
  open: OpenDesk,
  waiting: readonly string[],
): Promise<{ readonly hindered: readonly Why[]; readonly waiting: ReadonlyMap<string, Why> }> {
  const { signal } = open;
  await using dispatch = await openDispatch(open);
  const hindered = await findHindered({ ...dispatch, ...(await ownDispatcher(signal)) }, signal);
  const reasons = new Map<string, Why>();
  for (const id of waiting) reasons.set(id, await whyNotRunning(dispatch, id, signal));
  return { hindered, waiting: reasons };
}
