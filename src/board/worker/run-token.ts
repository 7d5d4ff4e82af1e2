import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files.ts";
import type { BoardStore } from "../board-store.ts";
import type { BoardsPlace } from "../boards-place.ts";
import type { RunCaller } from "../caller.ts";
import { taskLogFolder } from "./run-log.ts";
import type { RunName } from "./run-mark.ts";
import type { RunOrder } from "./run-order.ts";

type RunKey = Pick<RunOrder["run"], "taskId" | "runId">;

function tokenPath(root: string, slug: string, { taskId, runId }: RunKey): string {
  return join(taskLogFolder(root, slug, taskId), `${runId}.token`);
}

/**
 * Keeps the token of a run where the command line finds it, for as long as the worker lives. A file and not a variable:
 * a model that prints its environment must not print the token into its transcript.
 */
export async function keepRunToken({
  place,
  run,
}: Pick<RunOrder, "place" | "run">): Promise<AsyncDisposable> {
  const path = tokenPath(place.root, place.slug, run);
  await ensurePrivateFolder(taskLogFolder(place.root, place.slug, run.taskId));
  await writeFileAtomic(path, run.token, { mode: 0o600 });
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

/** What a run is on a board, with its token while it is alive. */
export async function loadRunCaller(
  store: BoardStore,
  { root }: BoardsPlace,
  { taskId, runId }: RunName,
  signal: AbortSignal,
): Promise<RunCaller> {
  const profile = (await store.findRun(runId, signal))?.profile ?? "worker";
  // Without a token the run is over, or never was: it may look, and whatever it writes is refused.
  const path = tokenPath(root, store.slug, { taskId, runId });
  const token = /^\w+$/.test(taskId) ? await readTextFile(path) : undefined;
  return { kind: "run", profile, taskId, runId, token: token ?? "" };
}
