import { setTimeout as sleep } from "node:timers/promises";
import { startLoopWatchdog } from "../../src/gateway/diagnostics/loop-watchdog.ts";
import { playRole, print } from "./child-role.ts";

interface Watched {
  readonly report: string;
}

const TIMES = { limitMs: 1_000, checkEveryMs: 200 };

function spinForEver(): void {
  for (;;);
}

await playRole({
  /** Works for longer than the limit, and then blocks. */
  async block({ report }: Watched) {
    startLoopWatchdog({ ...TIMES, report });
    await sleep(2 * TIMES.limitMs);
    print("alive");
    spinForEver();
  },
  async linger({ report }: Watched) {
    startLoopWatchdog({ ...TIMES, report }).endWithin(1_000);
    print("alive");
    for (;;) await sleep(50);
  },
});
