import { fstatSync, openSync } from "node:fs";
import type { Readable } from "node:stream";
import { ReadStream } from "node:tty";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import type { Jobs } from "../../../environments/jobs/jobs.ts";
import { messageOf } from "../../../lib/errors.ts";
import { enterRawMode } from "../../../lib/terminal-modes.ts";
import type { CommandContext } from "../../context.ts";
import { escapeControls } from "../../escape-controls.ts";
import { createPauses, followOutput, writeRaw } from "./follow-output.ts";
import { openJobPlace } from "./job-place.ts";

const DETACH = 0x1d; // Ctrl-]
const RECENT_BYTES = 8_000;
const OUR_FAILURE = 125;

/**
 * Puts a person's terminal in front of a running job: recent output, then what comes, and what is typed goes to the job.
 * Nothing that is typed is kept by us; the job's own echo is part of its output.
 */
export async function attachToJob(
  context: CommandContext,
  id: string,
  { task, eof }: { task: string; eof?: boolean },
): Promise<void> {
  const { terminal } = context;
  await using place = await openJobPlace(context, task);
  const { job } = await place.jobs.poll(id, context.signal);
  const detach = new AbortController();
  const signal = AbortSignal.any([context.signal, detach.signal]);
  if (job.state === "running") terminal.note(`hermes: attached to ${job.id}; ${adviceFor(job)}`);
  try {
    const options = { endsInput: eof ?? false, detach: () => detach.abort(), signal };
    const over = await stayAttached(place.jobs, job, options);
    terminal.note(`\nhermes: ${job.id} is over: ${howItEnded(over)}.`);
    const { exitCode = OUR_FAILURE } = over;
    context.exit(exitCode < 0 ? 128 - exitCode : exitCode);
  } catch (error) {
    if (!signal.aborted) throw error;
    terminal.note(`\nhermes: detached; ${job.id} runs on.`);
    if (!detach.signal.aborted) throw error;
  }
}

/** A negative exit code is the number of the signal that ended it. */
function howItEnded({ reason, exitCode }: JobRecord): string {
  if (exitCode === undefined) return reason ?? "ended";
  return `${reason}, ${exitCode < 0 ? `by signal ${-exitCode}` : `exit code ${exitCode}`}`;
}

/** Resolves when the job is over; the terminal is then as it was. */
async function stayAttached(
  jobs: Jobs,
  job: JobRecord,
  options: { readonly endsInput: boolean; detach(): void; readonly signal: AbortSignal },
): Promise<JobRecord> {
  const { signal } = options;
  const pauses = createPauses();
  // The terminal is raw here, and the job's lines go on.
  const onTrouble = (text: string): void =>
    void process.stderr.write(`\rhermes: ${escapeControls(text)}\r\n`);
  using _input = sendInput(jobs, job, { ...options, onSent: () => pauses.cut(), onTrouble });
  using _size = followSize(jobs, job, { onTrouble, signal });
  const onDropped = (bytes: number): void => onTrouble(`${bytes} bytes were not kept.`);
  const write = (bytes: Uint8Array): Promise<void> => writeRaw(bytes, process.stdout, signal);
  const wanted = { from: -RECENT_BYTES, follow: true, onDropped, write, pauses };
  return await followOutput(jobs, job.id, wanted, signal);
}

function adviceFor({ input }: JobRecord): string {
  if (process.stdin.isTTY !== true) return "Ctrl-C detaches.";
  if (input === "terminal") return "Ctrl-] detaches.";
  return input === "pipe" ? "Ctrl-] and Enter detaches." : "it reads nothing; Ctrl-] and Enter detaches.";
}

interface AttachedOptions {
  onTrouble(text: string): void;
  readonly signal: AbortSignal;
}

/** Gives the job's terminal the size of ours, now and whenever that changes. */
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
      if (!signal.aborted) onTrouble(`the job was not told the size of the window: ${messageOf(error)}`);
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

/** Sends what comes on standard input until it is disposed. Keys that come while others are on their way go together. */
function sendInput(jobs: Jobs, job: JobRecord, options: SendOptions): Disposable {
  const isTerminal = process.stdin.isTTY === true;
  if (!isTerminal && !isPiped()) return NOTHING;
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
          options.onTrouble(`nothing was sent: ${REFUSALS[outcome]}.`);
      }
      if (hasEnded && options.endsInput) await jobs.close(job.id, options.signal);
    } catch (error) {
      if (!options.signal.aborted) options.onTrouble(`nothing was sent: ${messageOf(error)}`);
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
    // Ctrl-D ends what was read from a terminal, not the terminal: a person goes on typing.
    if (!isTerminal || options.signal.aborted) return;
    if (!options.endsInput) options.onTrouble("its input stays open; Ctrl-D ends it after `attach --eof`.");
    const again = openTerminal();
    if (again !== undefined) listen(again);
  };
  function listen(input: Readable): void {
    stdin = input;
    input.on("data", onData);
    input.on("end", onEnd);
    input.on("error", () => undefined); // the terminal is gone, which a signal tells
  }
  const isRaw = isTerminal && job.input === "terminal" && job.state === "running";
  const modes = isRaw ? enterRawMode() : NOTHING;
  listen(process.stdin);
  return {
    [Symbol.dispose]() {
      stdin.off("data", onData);
      stdin.off("end", onEnd);
      modes[Symbol.dispose]();
      stdin.destroy(); // an input that stays open must not keep us
    },
  };
}

const NOTHING: Disposable = { [Symbol.dispose]: () => undefined };

function openTerminal(): Readable | undefined {
  try {
    return new ReadStream(openSync("/dev/tty", "r"));
  } catch {
    return undefined; // it is closed
  }
}

const REFUSALS = {
  "no-input": "the job takes no input",
  closed: "its input is closed",
  blocked: "it does not read",
} as const;

function isPiped(): boolean {
  try {
    const stats = fstatSync(0);
    return stats.isFIFO() || stats.isFile() || stats.isSocket();
  } catch {
    return false; // closed
  }
}
