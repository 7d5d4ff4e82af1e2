import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay } from "node:timers/promises";
import { boardsPlace } from "../../../../app.ts";
import type { Run } from "../../../../board/task.ts";
import { loggedRuns, logParts, runLogPath, taskLogFolder } from "../../../../board/worker/run-log.ts";
import { AppError } from "../../../../lib/errors.ts";
import { readHostFacts } from "../../../../lib/host-facts.ts";
import { escapeControls } from "../../../escape-controls.ts";
import { atBoard, type Desk, type OpenDesk, withTasks } from "../desk.ts";

export interface LogOptions {
  readonly run?: number;
  readonly tail?: number;
  readonly follow?: boolean;
}

const POLL_MS = 300;
const PIECE = 64 * 1024;

/** Prints what the worker of a run has printed, and with `--follow` goes on until the run is over. */
export async function showLog(desk: Desk, text: string, { run, tail, follow }: LogOptions): Promise<void> {
  await atBoard(desk, async (open) => {
    const { store, app, signal, context } = open;
    const { task, runs } = await withTasks(open, [text], (one) => store.show(one, signal));
    const { id } = task;
    const { root } = boardsPlace(app);
    const here = loggedRuns(taskLogFolder(root, store.slug, id));
    const last = runs.findLast(({ supervisor_pid: pid }) => pid !== null);
    const wanted = run === undefined ? last : runs.find((one) => one.id === run);
    const runId = run ?? last?.id ?? here.at(-1);
    if (wanted !== undefined && !here.includes(wanted.id)) await requireBegun(open, wanted, here);
    if (runId === undefined || (run !== undefined && wanted === undefined))
      throw new AppError(
        "file-unreadable",
        `${id} has no log of ${run === undefined ? "any run" : `run ${run}`}.`,
        {
          hint: `See its attempts with \`hermes kanban runs ${id}\`.`,
        },
      );
    const path = runLogPath(root, store.slug, id, runId);
    const read = new Map(logParts(path).map((part) => [part, readFrom(part, 0)]));
    const whole = Buffer.concat([...read.values()].map(({ bytes }) => bytes));
    context.terminal.write(
      escapeControls((tail === undefined ? whole : whole.subarray(-tail)).toString("utf8")),
    );
    if (follow === true) await followLog(open, path, runId, read.get(path)?.end ?? 0);
  });
}

/** Throws for a run whose log is not here and will not be. It lies on the host of the run, whose name the board may know. */
async function requireBegun(
  { store, signal }: OpenDesk,
  { id: runId, task_id: taskId, host_id: hostId, ended_at: endedAt }: Run,
  here: readonly number[],
): Promise<void> {
  const { hostId: ours } = await readHostFacts(signal);
  const isElsewhere = hostId !== null && hostId !== ours;
  if (!isElsewhere && endedAt === null) return; // it begins at any moment
  const others = here.length === 0 ? "" : ` Here are the logs of run ${here.join(", ")}: --run.`;
  throw new AppError(
    "file-unreadable",
    isElsewhere
      ? `Run ${runId} of ${taskId} was on the host ${await store.hostName(hostId, signal)}, and its log is there.`
      : `There is no log of run ${runId} of ${taskId} in this home.`,
    {
      hint: isElsewhere
        ? `On that host: \`hermes kanban log ${taskId} --run ${runId}\`.${others}`
        : `See its attempts with \`hermes kanban runs ${taskId}\`.${others}`,
    },
  );
}

/** Goes on where the log had been read to: what was printed since then is not left out. */
async function followLog(
  { store, signal, context }: OpenDesk,
  path: string,
  runId: number,
  from: number,
): Promise<void> {
  const decoder = new StringDecoder("utf8"); // holds back a character that is not whole yet
  let at = from;
  for (let isOver = false; ; ) {
    const { bytes, end } = readFrom(path, at);
    context.terminal.write(escapeControls(decoder.write(bytes)));
    at = end;
    if (isOver) return;
    // One more look after the end: its last line is written then.
    isOver = ((await store.findRun(runId, signal))?.ended_at ?? null) !== null;
    await delay(POLL_MS, undefined, { signal });
  }
}

/** What stands behind a position; from the beginning when the file was begun anew. */
function readFrom(path: string, position: number): { readonly bytes: Buffer; readonly end: number } {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return { bytes: Buffer.alloc(0), end: 0 }; // set aside just now, or not there yet
  }
  try {
    const { size } = fstatSync(file);
    let at = size < position ? 0 : position;
    const pieces: Buffer[] = [];
    while (at < size) {
      const piece = Buffer.alloc(Math.min(PIECE, size - at));
      const read = readSync(file, piece, 0, piece.length, at);
      if (read === 0) break;
      pieces.push(piece.subarray(0, read));
      at += read;
    }
    return { bytes: Buffer.concat(pieces), end: at };
  } finally {
    closeSync(file);
  }
}
