import type { Clock } from "../lib/time/clock.ts";
import type { Approval } from "./approval.ts";
import type { ApprovalQueue } from "./approval-queue.ts";

/** How often to check for an answer from another process. */
const POLL_MS = 250;

/** Waits until the question is answered, by this or another process, or has expired. */
export async function awaitAnswer(
  queue: ApprovalQueue,
  { id }: Approval,
  { clock, keepAfterAbort }: { readonly clock: Clock; readonly keepAfterAbort: boolean },
  signal: AbortSignal,
): Promise<Approval> {
  // Closing a question must also succeed after the turn was stopped.
  const never = new AbortController().signal;
  for (;;) {
    const approval = queue.require(id);
    if (approval.state !== "waiting") return approval;
    if (signal.aborted && keepAfterAbort) return approval;
    if (signal.aborted) return queue.close(id, "withdrawn", never);
    if (approval.endsAt !== undefined && approval.endsAt <= clock.now())
      return queue.close(id, "expired", never);
    await clock.sleep(POLL_MS, signal).catch(() => undefined); // the next round sees the abort
  }
}
