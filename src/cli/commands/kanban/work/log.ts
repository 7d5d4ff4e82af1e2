import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay } from "node:timers/promises";
import { boardsPlace } from "../../../../app.ts";
import { loggedRuns, logParts, runLogPath, taskLogFolder } from "../../../../board/worker/run-log.ts";
import { AppError } from "../../../../lib/errors.ts";
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
    const runId = run ?? loggedRuns(taskLogFolder(root, store.slug, id)).at(-1);
    if (runId === undefined || (run !== undefined && !runs.some((one) => one.id === run)))
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
