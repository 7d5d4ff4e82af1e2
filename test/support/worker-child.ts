import { join } from "node:path";
import type { BoardPlace } from "../../src/board/board-store.ts";
import { openHostSlots } from "../../src/board/dispatcher/host-slots.ts";
import type { ClaimedTask } from "../../src/board/operations/claim.ts";
import { createWorkerHost } from "../../src/board/worker/worker-host.ts";
import { systemClock } from "../../src/lib/clock.ts";

interface Input {
  readonly claimed: ClaimedTask;
  readonly place: BoardPlace;
  readonly board: string;
  readonly program: readonly [string, string];
  readonly home: string;
}

/** A dispatcher that starts one run and ends at once. */
const { claimed, place, board, program, home } = JSON.parse(process.argv[2] ?? "") as Input;
const host = createWorkerHost({
  id: "host-of-test",
  place,
  board,
  slots: openHostSlots({ root: place.root, host: "host-of-test", board }, systemClock),
  program,
  dispatchedBy: "default",
  variables: { PATH: process.env["PATH"], HOME: home },
  userHome: home,
  log: { maxBytes: 64 * 1024, backups: 1 },
  policy: { failureLimit: 5, failureRetryMs: 0, rateLimitCooldownMs: 1_000 },
  requireProfile: async (name) => ({ name, home: join(place.root, "profiles", name) }),
  runnable: async () => ({ ok: true }),
  routeOf: async (name: string) => name,
  defaultWorkdir: async () => null,
});
const started = await host.start(claimed, new AbortController().signal);
if (started.kind === "failed") throw new Error(started.error);
