import { openSync } from "node:fs";
import type { Readable } from "node:stream";
import { ReadStream } from "node:tty";
import { openSandboxJobs } from "../../../app/environments/sandbox.ts";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import type { Jobs } from "../../../environments/jobs/jobs.ts";
import { messageOf } from "../../../lib/errors.ts";
import { enterRawMode } from "../../../lib/process/terminal-modes.ts";
import type { CommandContext } from "../../context.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { readInputKind } from "../../terminal/input-kind.ts";
import { createPauses, followOutput, writeRaw } from "./follow-output.ts";
import { createSandboxRequest } from "./sandbox-context.ts";

const DETACH = 0x1d; // Ctrl-]
const RECENT_BYTES = 8_000;
const OUR_FAILURE = 125;

/**
 * Connects the terminal to a running job: prints its recent and new output and sends keystrokes to the job.
 * Hermes records no keystrokes; the job's own echo is part of its recorded output.
 */
export async function attachToJob(
  context: CommandContext,
  id: string,
  { task, eof }: { task: string; eof?: boolean },
): Promise<void> {
  const { terminal } = context;
  const { app, request } = await createSandboxRequest(context, task);
  await using opened = await openSandboxJobs(app, request, context.signal);
  const { job } = await opened.jobs.poll(id, context.signal);
  const detach = new AbortController();
  const signal = AbortSignal.any([context.signal, detach.signal]);
  if (job.state === "running") terminal.note(`hermes: attached to ${job.id}; ${hintFor(job)}`);
  try {
    const options = { endsInput: eof ?? false, detach: () => detach.abort(), signal };
    const ended = await stayAttached(opened.jobs, job, options);
    terminal.note(`\nhermes: ${job.id} has ended: ${formatEnd(ended)}.`);
    const { exitCode = OUR_FAILURE } = ended;
    context.exit(exitCode < 0 ? 128 - exitCode : exitCode);
  } catch (error) {
    if (!signal.aborted) throw error;
    terminal.note(`\nhermes: detached; ${job.id} is still running.`);
    if (!detach.signal.aborted) throw error;
  }
}

/** A negative exit code is the number of the signal that ended the job. */
function formatEnd({ reason, exitCode }: JobRecord): string {
  if (exitCode === undefined) return reason ?? "ended";
  return `${reason}, ${exitCode < 0 ? `by signal ${-exitCode}` : `exit code ${exitCode}`}`;
}

/** Resolves when the job has ended; by then the terminal's modes are restored. */
async function stayAttached(
  jobs: Jobs,
  job: JobRecord,
  options: { readonly endsInput: boolean; detach(): void; readonly signal: AbortSignal },
): Promise<JobRecord> {
  const { signal } = options;
  const pauses = createPauses();
  // In raw mode a line needs \r, and the job's output continues after it.
  const onTrouble = (text: string): void =>
    void process.stderr.write(`\rhermes: ${escapeControls(text)}\r\n`);
  using _input = sendInput(jobs, job, { ...options, onSent: () => pauses.endEarly(), onTrouble });
  using _size = followSize(jobs, job, { onTrouble, signal });
  const onDropped = (bytes: number): void => onTrouble(`${bytes} bytes of output were discarded.`);
  const write = (bytes: Uint8Array): Promise<void> => writeRaw(bytes, process.stdout, signal);
  const wanted = { from: -RECENT_BYTES, follow: true, onDropped, write, pauses };
  return await followOutput(jobs, job.id, wanted, signal);
}

function hintFor({ input }: JobRecord): string {
  if (process.stdin.isTTY !== true) return "Ctrl-C detaches.";
  if (input === "terminal") return "Ctrl-] detaches.";
  return input === "pipe"
    ? "Ctrl-] and Enter detaches."
    : "the job reads no input; Ctrl-] and Enter detaches.";
}

interface AttachedOptions {
  onTrouble(text: string): void;
  readonly signal: AbortSignal;
}

/** Sets the size of the job's terminal to the size of ours, now and after each resize. */
function followSize(jobs: Jobs, job: JobRecord, { onTrouble, signal }: AttachedOptions): Disposable {
  const { stdout } = process;
  if (stdout.isTTY !== true || job.input !== "terminal" || job.state !== "running") return NOTHING;
  let isSending = false;
  let isNew = false;
  const send = async (): Promise<void> => {
    isNew = true;
    if (isSending) return;
    isSending = true;
    try {
      while (isNew) {
        isNew = false;
        await jobs.resize(job.id, { rows: stdout.rows, columns: stdout.columns }, signal);
      }
    } catch (error) {
      if (!signal.aborted) onTrouble(`the job's terminal was not resized: ${messageOf(error)}`);
    } finally {
      isSending = false;
    }
  };
  const onResize = (): void => void send();
  stdout.on("resize", onResize);
  onResize();
  return { [Symbol.dispose]: () => void stdout.off("resize", onResize) };
}

interface SendOptions extends AttachedOptions {
  readonly endsInput: boolean;
  detach(): void;
  onSent(): void;
}

/** Sends standard input to the job until disposed. Bytes that arrive during a write are sent together. */
function sendInput(jobs: Jobs, job: JobRecord, options: SendOptions): Disposable {
  const isTerminal = process.stdin.isTTY === true;
  if (!isTerminal && readInputKind() === undefined) return NOTHING;
  const waiting: Buffer[] = [];
  let isSending = false;
  let hasEnded = false;
  let stdin: Readable;

  async function send(): Promise<void> {
    if (isSending) return;
    isSending = true;
    try {
      while (waiting.length > 0) {
        const outcome = await jobs.write(job.id, Buffer.concat(waiting.splice(0)), options.signal);
        options.onSent();
        if (outcome !== "written" && outcome !== "ended")
          options.onTrouble(`the input was not sent: ${REFUSALS[outcome]}.`);
      }
      if (hasEnded && options.endsInput) await jobs.close(job.id, options.signal);
    } catch (error) {
      if (!options.signal.aborted) options.onTrouble(`the input was not sent: ${messageOf(error)}`);
    } finally {
      isSending = false;
    }
  }
  const onData = (bytes: Buffer): void => {
    const at = isTerminal ? bytes.indexOf(DETACH) : -1;
    waiting.push(at === -1 ? bytes : bytes.subarray(0, at));
    if (at === -1) void send();
    else options.detach();
  };
  const onEnd = (): void => {
    hasEnded = true;
    void send();
    // Ctrl-D ends this stream, not the terminal, so the terminal is opened again for further keystrokes.
    if (!isTerminal || options.signal.aborted) return;
    if (!options.endsInput)
      options.onTrouble("the job's input stays open; with `attach --eof`, Ctrl-D closes it.");
    const again = openTerminal();
    if (again !== undefined) listen(again);
  };
  function listen(input: Readable): void {
    stdin = input;
    input.on("data", onData);
    input.on("end", onEnd);
    input.on("error", () => undefined); // the terminal was closed; a signal reports that
  }
  const isRaw = isTerminal && job.input === "terminal" && job.state === "running";
  const modes = isRaw ? enterRawMode() : NOTHING;
  listen(process.stdin);
  return {
    [Symbol.dispose]() {
      stdin.off("data", onData);
      stdin.off("end", onEnd);
      modes[Symbol.dispose]();
      stdin.destroy(); // an open stdin would keep this process running
    },
  };
}

const NOTHING: Disposable = { [Symbol.dispose]: () => undefined };

function openTerminal(): Readable | undefined {
  try {
    return new ReadStream(openSync("/dev/tty", "r"));
  } catch {
    return undefined; // the terminal was closed
  }
}

const REFUSALS = {
  "no-input": "the job takes no input",
  closed: "its input is closed",
  blocked: "the job does not read it",
} as const;
