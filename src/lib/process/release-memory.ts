import { Session } from "node:inspector";
import { setImmediate as nextRound } from "node:timers/promises";

/**
 * Returns unused memory of V8 to the system, which blocks the process for up to a tenth of a second. V8 keeps its young generation
 * at its largest size, and garbage in the old one, until it is notified that memory is low. Only the inspector can send that.
 */
export async function releaseMemory(): Promise<void> {
  const session = new Session();
  session.connect();
  await new Promise<void>((resolve) => session.post("HeapProfiler.collectGarbage", () => resolve()));
  await nextRound(); // Node crashes when a session is disconnected inside its own callback
  session.disconnect();
}
