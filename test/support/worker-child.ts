import { join } from "node:path";
import { openHostSlots } from "../../src/board/dispatcher/host-slots.ts";
import type { BoardLocation } from "../../src/board/open-board.ts";
import type { ClaimedTask } from "../../src/board/operations/runs/claim.ts";
import { createWorkerHost } from "../../src/board/supervisor/worker-host.ts";
import { systemClock } from "../../src/lib/time/clock.ts";

interface Input {
  readonly claimed: ClaimedTask;
  readonly location: BoardLocation;
  readonly board: string;
  readonly program: readonly [string, string];
  readonly home: string;
}

/** A dispatcher that starts one run and exits at once. */
const { claimed, location, board, program, home } = JSON.parse(process.argv[2] ?? "") as Input;
const host = createWorkerHost({
  id: "host-of-test",
  location,
  board,
  slots: openHostSlots({ root: location.root, host: "host-of-test", board }, systemClock),
  program,
  dispatchedBy: "default",
  variables: { PATH: process.env["PATH"], HOME: home },
  userHome: home,
  log: { maxBytes: 64 * 1024, backups: 1 },
  policy: { failureLimit: 5, failureRetryMs: 0, rateLimitCooldownMs: 1_000 },
  requireProfile: async (name) => ({ name, home: join(location.root, "profiles", name) }),
  runnable: async () => ({ ok: true }),
  routeOf: async (name: string) => name,
  defaultWorkdir: async () => null,
});
const started = await host.start(claimed, new AbortController().signal);
if (started.kind === "failed") throw new Error(started.error);
