import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants } from "node:fs/promises";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { startAwakeTimer } from "./awake-timer.ts";
import { AppError, errnoOf } from "./errors.ts";
import { endProcessGroup } from "./process-group.ts";

const DEFAULT_MAX_OUTPUT_BYTES = 10 * 1024 * 1024;
const DEFAULT_GRACE_MS = 500;
const DRAIN_PAUSE_MS = 100;
const DRAIN_PAUSES = 10;

export interface ProcessOptions {
  readonly cwd?: string;
  /** The whole environment of the process; nothing of ours is added. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Without it the process reads an empty stdin. */
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs?: number;
  /** Bound of stdout and of stderr, each (default 10 MiB); what comes after it is read and dropped. */
  readonly maxOutputBytes?: number;
  /** Time between TERM and KILL when the process is ended before its time (default 500). */
  readonly graceMs?: number;
  /** Sees every chunk, dropped ones included. If it throws, the process is ended and the call rejects with that. */
  readonly onStdout?: (chunk: Uint8Array) => void;
  readonly onStderr?: (chunk: Uint8Array) => void;
}

export interface ProcessResult {
  /** Null when a signal ended the process. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** UTF-8; bytes that are not are replaced by U+FFFD. */
  readonly stdout: string;
  readonly stderr: string;
  /** Output went beyond `maxOutputBytes` and was cut. */
  readonly truncated: boolean;
  readonly timedOut: boolean;
  /** Processes of a timed-out group that were still there after KILL; nearly always empty. */
  readonly survivors: readonly number[];
  readonly durationMs: number;
}

/**
 * Runs a program, without a shell and in a process group of its own, and resolves for every way it can end, timeout
 * included. Rejects when it cannot start, and with the signal's reason once an aborted group has been ended.
 * Children left behind by a program that ended by itself live on, but are not listened to.
 */
export async function runProcess(
  argv: readonly [string, ...string[]],
  options: ProcessOptions,
  signal: AbortSignal,
): Promise<ProcessResult> {
  signal.throwIfAborted();
  const { maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES, graceMs = DEFAULT_GRACE_MS } = options;
  const startedAt = performance.now();
  const { child, pid } = await start(argv, options);

  const stop = new AbortController();
  const stopped = once(stop.signal, "abort");
  const onAbort = () => stop.abort(signal.reason);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort(); // it may have happened while the program was starting
  let timedOut = false;
  const onTimeout = () => {
    timedOut = true;
    stop.abort();
  };
  const timer = options.timeoutMs === undefined ? undefined : startAwakeTimer(options.timeoutMs, onTimeout);

  const stdout = capture(child.stdout, maxOutputBytes, options.onStdout, stop);
  const stderr = capture(child.stderr, maxOutputBytes, options.onStderr, stop);
  let ending: { exitCode: number | null; signal: NodeJS.Signals | null } = { exitCode: null, signal: null };
  const exited = once(child, "exit").then(([exitCode, endSignal]) => {
    timer?.[Symbol.dispose]();
    ending = { exitCode, signal: endSignal };
  });
  const closed = once(child, "close");
  const drained = () => drain(closed, () => stdout.seenBytes() + stderr.seenBytes());

  // A program may end, or close its stdin, without having read all of it.
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.stdin);

  let survivors: readonly number[] = [];
  try {
    await Promise.race([exited.then(drained), stopped]);
    if (stop.signal.aborted) {
      survivors = await endProcessGroup(pid, graceMs);
      if (survivors.length === 0) await exited;
      await drained();
    }
  } finally {
    timer?.[Symbol.dispose]();
    signal.removeEventListener("abort", onAbort);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    child.unref(); // one that could not be ended must not keep us alive
  }
  signal.throwIfAborted();
  if (stop.signal.aborted && !timedOut) throw stop.signal.reason;
  return {
    ...ending,
    stdout: stdout.text(),
    stderr: stderr.text(),
    truncated: stdout.truncated() || stderr.truncated(),
    timedOut,
    survivors,
    durationMs: performance.now() - startedAt,
  };
}

async function start([program, ...args]: readonly [string, ...string[]], { cwd, env }: ProcessOptions) {
  let failure: unknown;
  try {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    if (child.pid !== undefined) return { child, pid: child.pid };
    [failure] = await once(child, "error");
  } catch (error) {
    failure = error;
  }
  throw await unstartable(program, cwd, errnoOf(failure));
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such program",
  EACCES: "it is not an executable file, or you may not run it",
  ENOEXEC: "it is not a program of this machine",
  E2BIG: "its arguments and environment are too long",
  ERR_INVALID_ARG_VALUE: "an argument or a variable holds a null byte",
};

/** The system's own error is left out on purpose: it carries the whole argv, which may hold secrets. */
async function unstartable(program: string, cwd: string | undefined, errno = "unknown"): Promise<AppError> {
  const folderErrno = cwd === undefined ? undefined : await folderProblem(cwd);
  if (folderErrno !== undefined) {
    return new AppError(
      "process-unstartable",
      `Cannot start ${program} in ${cwd}: the folder is not usable (${folderErrno}).`,
      {
        hint: "Create the folder, or choose another working folder.",
      },
    );
  }
  // A folder of PATH that may not be searched is told as EACCES, too.
  if (errno === "EACCES" && !program.includes("/"))
    return new AppError(
      "process-unstartable",
      `Cannot start ${program}: there is no such program that you may run.`,
    );
  const reason = REASONS[errno] ?? `the system refused (${errno})`;
  const message = `Cannot start ${program}: ${reason}.`;
  return new AppError("process-unstartable", message, startHint(program, errno));
}

function startHint(program: string, errno: string): { hint?: string } {
  if (errno === "ENOENT") return program.includes("/") ? { hint: `Check the path ${program}.` } : {};
  if (errno === "EACCES") return { hint: `Check the permissions of ${program}.` };
  return { hint: "Free some memory and processes, or shorten what is handed over, and try again." };
}

async function folderProblem(path: string): Promise<string | undefined> {
  try {
    await access(`${path}/.`, constants.X_OK);
    return undefined;
  } catch (error) {
    return errnoOf(error);
  }
}

function capture(
  stream: Readable,
  maxBytes: number,
  onChunk: ((chunk: Uint8Array) => void) | undefined,
  stop: AbortController,
) {
  const kept: Buffer[] = [];
  let seenBytes = 0;
  stream.on("data", (chunk: Buffer) => {
    if (seenBytes < maxBytes) kept.push(chunk.subarray(0, maxBytes - seenBytes));
    seenBytes += chunk.length;
    try {
      onChunk?.(chunk);
    } catch (error) {
      stop.abort(error);
    }
  });
  stream.on("error", (error) => stop.abort(error));
  const truncated = () => seenBytes > maxBytes;
  return {
    seenBytes: () => seenBytes,
    truncated,
    text() {
      const bytes = Buffer.concat(kept);
      // The decoder holds back the character that the cut went through.
      return truncated() ? new StringDecoder("utf8").write(bytes) : bytes.toString("utf8");
    },
  };
}

/** Reads what is left, but waits neither for a quiet holder of the pipes nor for ever for a talkative one. */
async function drain(closed: Promise<unknown>, seenBytes: () => number): Promise<void> {
  for (let pause = 0; pause < DRAIN_PAUSES; pause++) {
    const before = seenBytes();
    const end = await Promise.race([closed, sleep(DRAIN_PAUSE_MS, "idle", { ref: false })]);
    if (end !== "idle") return;
    await turn(); // after a busy spell of ours, what is in the pipes is read first
    if (seenBytes() === before) return;
  }
}
