import { access } from "node:fs/promises";
import { systemClock } from "../../lib/clock.ts";

const LOOK_EVERY_MS = 20;
const WAIT_AT_MOST_MS = 10_000;
/** Counted, because after a halt of ours the other one needs its time as before. */
const MOST_LOOKS = WAIT_AT_MOST_MS / LOOK_EVERY_MS;

/** Lets one caller connect and the others wait, so that they find its connection instead of making one each. */
export interface ConnectFirst {
  /** Resolves when it is our turn to connect, the shared connection is there, or waiting for it has no point. */
  wait(signal: AbortSignal): Promise<void>;
  /** Tells that the attempt is over: the connection was made, and may even be lost again, or none will come. */
  settle(): void;
}

export function createConnectFirst(socket: string): ConnectFirst {
  const isThere = () =>
    access(socket).then(
      () => true,
      () => false,
    );
  let attempt: { isOver: boolean; readonly until: number } | undefined;
  const isPending = (one: typeof attempt): boolean =>
    one !== undefined && !one.isOver && performance.now() < one.until;

  return {
    async wait(signal) {
      const others = attempt;
      if (!isPending(others)) {
        attempt = { isOver: false, until: performance.now() + WAIT_AT_MOST_MS };
        return;
      }
      for (let looks = 0; looks < MOST_LOOKS && !others?.isOver && !(await isThere()); looks++)
        await systemClock.sleep(LOOK_EVERY_MS, signal);
    },
    settle() {
      if (attempt) attempt.isOver = true;
    },
  };
}
