import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { boardsLocation } from "../../../../app/board.ts";
import { loggedRuns, logParts, runLogPath, taskLogFolder } from "../../../../board/supervisor/log/run-log.ts";
import type { Run } from "../../../../board/task.ts";
import { AppError } from "../../../../lib/errors.ts";
import { readHostFacts } from "../../../../lib/process/host-facts.ts";
import { defineCommand, verbsOf } from "../../../define-command.ts";
import { parseCount } from "../../../parse-option.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { type KanbanContext, type OpenBoardContext, showTask } from "../kanban-context.ts";
import { onBoard } from "../verb.ts";

interface LogOptions {
  readonly run?: number;
  readonly tail?: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

const POLL_MS = 300;
/** How much of the end of a log is searched for its last line. */
const END = 4_096;

/** The verbs about workers: their log, and the internal verb that supervises a run. */
export function addVerbs(kanbanContext: KanbanContext, _: unknown, kanban: Command): void {
  const { terminal } = kanbanContext.context;
  verbsOf(kanban, terminal)("log", "Print the log of a task's latest run.", [
    "hermes kanban log 12 --follow",
    "hermes kanban log 12 --run 3",
  ])
    .argument("<task>")
    .option("--run <number>", "print the log of this run", parseCount)
    .option("--tail <bytes>", "print only the last <bytes> bytes", parseCount)
    .option("-f, --follow", "follow the log until the run ends")
    .option("--json", "print JSON; not with --follow")
    .action(onBoard(kanbanContext, showLog));
  const inner = defineCommand("supervise", "Supervise a run; started by the dispatcher.", terminal).action(
    async () => (await import("./supervise.ts")).supervise(kanbanContext.context),
  );
  kanban.addCommand(inner, { hidden: true });
}

/** Prints the log of a run, and with `--follow` new output until the run ends. */
async function showLog(
  open: OpenBoardContext,
  text: string,
  { run, tail, follow, json }: LogOptions,
): Promise<void> {
  if (json === true && follow === true)
    throw new AppError("usage-wrong", "--json and --follow cannot be used together.");
  const { store, app, context } = open;
  const { task, runs } = await showTask(open, text);
  const { id } = task;
  const { root } = boardsLocation(app);
  const here = loggedRuns(taskLogFolder(root, store.slug, id));
  const last = runs.findLast(({ supervisor_pid: pid }) => pid !== null);
  const wanted = run === undefined ? last : runs.find((one) => one.id === run);
  const runId = run ?? last?.id ?? here.at(-1);
  if (wanted !== undefined && !here.includes(wanted.id)) await requireLocalLog(open, wanted, here);
  if (runId === undefined || (run !== undefined && wanted === undefined))
    throw new AppError(
      "file-unreadable",
      `${id} has no log of ${run === undefined ? "any run" : `run ${run}`}.`,
      {
        hint: `List its runs with \`hermes kanban runs ${id}\`.`,
      },
    );
  const path = runLogPath(root, store.slug, id, runId);
  const read = new Map(logParts(path).map((part) => [part, readFrom(part, 0)]));
  const whole = Buffer.concat([...read.values()].map(({ bytes }) => bytes));
  const shown = (tail === undefined ? whole : whole.subarray(-tail)).toString("utf8");
  if (json === true) return context.terminal.printJson({ task_id: id, run_id: runId, path, text: shown });
  context.terminal.write(escapeControls(shown));
  if (follow === true) await followLog(open, path, runId, read.get(path)?.end ?? 0);
}

/** Throws for a run whose log will not appear on this host, and names the host of the run if the board knows it. */
async function requireLocalLog(
  { store, signal }: OpenBoardContext,
  { id: runId, task_id: taskId, host_id: hostId, ended_at: endedAt }: Run,
  here: readonly number[],
): Promise<void> {
  const { hostId: ours } = await readHostFacts(signal);
  const isElsewhere = hostId !== null && hostId !== ours;
  if (!isElsewhere && endedAt === null) return; // its log is about to be created
  const others =
    here.length === 0 ? "" : ` This home has logs of runs ${here.join(", ")}; choose one with --run.`;
  throw new AppError(
    "file-unreadable",
    isElsewhere
      ? `Run ${runId} of ${taskId} was on the host ${await store.hostName(hostId, signal)}, which has its log.`
      : `There is no log of run ${runId} of ${taskId} in this home.`,
    {
      hint: isElsewhere
        ? `On that host: \`hermes kanban log ${taskId} --run ${runId}\`.${others}`
        : `List its runs with \`hermes kanban runs ${taskId}\`.${others}`,
    },
  );
}

/** Prints new output from the given offset until the run ends. */
async function followLog(
  { store, signal, context }: OpenBoardContext,
  path: string,
  runId: number,
  from: number,
): Promise<void> {
  const decoder = new StringDecoder("utf8"); // holds back an incomplete character
  let at = from;
  for (let isOver = false; ; ) {
    const { bytes, end } = readFrom(path, at);
    context.terminal.write(escapeControls(decoder.write(bytes)));
    at = end;
    if (isOver) return;
    // Read once more after the run has ended, because the last line is written then.
    isOver = ((await store.findRun(runId, signal))?.ended_at ?? null) !== null;
    await delay(POLL_MS, undefined, { signal });
  }
}

/** The last non-empty line of a log, if any. */
export function lastLineOf(path: string): string | undefined {
  const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
  const lines = readFrom(path, Math.max(0, size - END))
    .bytes.toString("utf8")
    .split("\n");
  return lines.map((line) => line.trim()).findLast((line) => line !== "");
}

/** Reads a file from an offset, or from its start if the file was rotated. */
function readFrom(path: string, position: number): { readonly bytes: Buffer; readonly end: number } {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return { bytes: Buffer.alloc(0), end: 0 }; // being rotated, or not created yet
  }
  try {
    const { size } = fstatSync(file);
    const start = size < position ? 0 : position;
    const bytes = Buffer.alloc(size - start);
    const read = readSync(file, bytes, 0, bytes.length, start);
    return { bytes: bytes.subarray(0, read), end: start + read };
  } finally {
    closeSync(file);
  }
}
