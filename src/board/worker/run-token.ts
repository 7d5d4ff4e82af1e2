import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files/files.ts";
import { parseBoardSlug } from "../board-slug.ts";
import type { BoardStore } from "../board-store.ts";
import type { RunCaller } from "../caller.ts";
import type { BoardsLocation } from "../registry/boards-location.ts";
import { taskLogFolder } from "../supervisor/log/run-log.ts";
import type { RunName } from "./run-mark.ts";
import type { RunOrder } from "./run-order.ts";

type RunKey = Pick<RunOrder["run"], "taskId" | "runId">;

const SUFFIX = ".token";

function tokenPath(root: string, slug: string, { taskId, runId }: RunKey): string {
  return join(taskLogFolder(root, slug, taskId), `${runId}${SUFFIX}`);
}

/** The content of a token file. The database may be known only to the dispatcher, so the worker's commands find it here. */
const tokenFileSchema = z.strictObject({ token: z.string(), databaseUrl: z.string() });

/** Stores token and database of a run for commands of its worker: in a file, because a model may print its variables. */
export async function openRunTokenFile(order: Pick<RunOrder, "location" | "run">): Promise<AsyncDisposable> {
  const { location, run } = order;
  await ensurePrivateFolder(taskLogFolder(location.root, location.slug, run.taskId));
  await removeRunTokens(order);
  const content: z.infer<typeof tokenFileSchema> = { token: run.token, databaseUrl: location.databaseUrl };
  await writeFileAtomic(tokenPath(location.root, location.slug, run), JSON.stringify(content), {
    mode: 0o600,
  });
  return { [Symbol.asyncDispose]: () => removeRunTokens(order) };
}

/** Removes the token files of a task, even those of killed workers: only the current run of a task has a valid token. */
export async function removeRunTokens({ location, run }: Pick<RunOrder, "location" | "run">): Promise<void> {
  const folder = taskLogFolder(location.root, location.slug, run.taskId);
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => one.endsWith(SUFFIX)))
    await rm(join(folder, name), { force: true });
}

async function readTokenFile(
  root: string,
  slug: string,
  run: RunKey,
): Promise<z.infer<typeof tokenFileSchema> | undefined> {
  if (!/^\w+$/.test(run.taskId)) return undefined;
  const text = await readTextFile(tokenPath(root, slug, run));
  return text === undefined ? undefined : tokenFileSchema.parse(JSON.parse(text));
}

/** The boards of the run that these variables name; undefined when no worker of that run is alive. */
export async function findRunBoards(
  variables: Readonly<Record<string, string | undefined>>,
): Promise<BoardsLocation | undefined> {
  const { HERMES_KANBAN_HOME: root, HERMES_KANBAN_BOARD: slug, HERMES_KANBAN_TASK: taskId } = variables;
  const runId = Number(variables["HERMES_KANBAN_RUN_ID"]);
  if (!root || !slug || !taskId || !Number.isSafeInteger(runId)) return undefined;
  const found = await readTokenFile(root, parseBoardSlug(slug), { taskId, runId });
  return found && { root, databaseUrl: found.databaseUrl };
}

/** The caller for a run on its board; it has the token while the worker of the run is alive. */
export async function loadRunCaller(
  store: BoardStore,
  { root }: BoardsLocation,
  { taskId, runId }: RunName,
  signal: AbortSignal,
): Promise<RunCaller> {
  const profile = (await store.findRun(runId, signal))?.profile ?? "worker";
  // Without a token the run has ended or never existed: its reads are allowed and its writes are refused.
  const found = await readTokenFile(root, store.slug, { taskId, runId });
  return { kind: "run", profile, taskId, runId, token: found?.token ?? "" };
}
