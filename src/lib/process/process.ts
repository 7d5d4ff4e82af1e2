import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants } from "node:fs/promises";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { AppError, errnoOf } from "../errors.ts";
import { openAwakeTimer } from "../time/awake-timer.ts";
import { endProcessGroup } from "./process-group.ts";

const DEFAULT_MAX_OUTPUT_BYTES = 10 * 1024 * 1024;
const DEFAULT_GRACE_MS = 500;
const DRAIN_PAUSE_MS = 100;
const DRAIN_PAUSES = 10;

export interface ProcessOptions {
  readonly cwd?: string;
  /** The complete environment of the process; nothing is inherited. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Empty stdin if omitted. */
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs?: number;
  /** Limit for stdout and for stderr, each (default 10 MiB); output beyond the limit is read and dropped. */
  readonly maxOutputBytes?: number;
  /** Time between TERM and KILL after a timeout or abort (default 500). */
  readonly graceMs?: number;
  /** Receives every chunk, including dropped ones. If it throws, the process is ended and the call rejects with that error. */
  readonly onStdout?: (chunk: Uint8Array) => void;
  readonly onStderr?: (chunk: Uint8Array) => void;
}

export interface ProcessResult {
  /** Null when a signal terminated the process. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Decoded as UTF-8; invalid bytes become U+FFFD. */
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly timedOut: boolean;
  /** Processes of a timed-out group that survived KILL; nearly always empty. */
  readonly survivors: readonly number[];
  readonly durationMs: number;
}

/**
 * Runs a program without a shell, in its own process group. Resolves however the program ends, including by timeout. Rejects
 * when it cannot start, and with the signal's reason after an aborted group has ended. When the program exits by itself, its
 * background children keep running, but their output is ignored.
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
  if (signal.aborted) onAbort(); // the abort may have happened while the program was starting
  let timedOut = false;
  const onTimeout = () => {
    timedOut = true;
    stop.abort();
  };
  const timer = options.timeoutMs === undefined ? undefined : openAwakeTimer(options.timeoutMs, onTimeout);

  const stdout = capture(child.stdout, maxOutputBytes, options.onStdout, stop);
  const stderr = capture(child.stderr, maxOutputBytes, options.onStderr, stop);
  let status: { exitCode: number | null; signal: NodeJS.Signals | null } = { exitCode: null, signal: null };
  const exited = once(child, "exit").then(([exitCode, endSignal]) => {
    timer?.[Symbol.dispose]();
    status = { exitCode, signal: endSignal };
  });
  const closed = once(child, "close");
  const drained = () => drain(closed, () => stdout.seenBytes() + stderr.seenBytes());

  // The program may exit, or close its stdin, before it has read all input.
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
    child.unref(); // a process that survived KILL must not keep this process alive
  }
  signal.throwIfAborted();
  if (stop.signal.aborted && !timedOut) throw stop.signal.reason;
  return {
    ...status,
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
  ENOENT: "program not found",
  EACCES: "it is not an executable file, or you have no permission to run it",
  ENOEXEC: "it is not a program for this machine",
  E2BIG: "its arguments and environment are too long",
  ERR_INVALID_ARG_VALUE: "an argument or an environment variable contains a null byte",
};

/** Does not attach the system's error as cause: it contains the whole argv, which may hold secrets. */
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
  // EACCES is also reported for a folder of PATH that may not be searched.
  if (errno === "EACCES" && !program.includes("/"))
    return new AppError(
      "process-unstartable",
      `Cannot start ${program}: no executable of that name was found on the PATH.`,
    );
  const reason = REASONS[errno] ?? `the system refused (${errno})`;
  const message = `Cannot start ${program}: ${reason}.`;
  return new AppError("process-unstartable", message, startHint(program, errno));
}

function startHint(program: string, errno: string): { hint?: string } {
  if (errno === "ENOENT") return program.includes("/") ? { hint: `Check the path ${program}.` } : {};
  if (errno === "EACCES") return { hint: `Check the permissions of ${program}.` };
  return {
    hint: "Free memory or end some processes, or shorten the arguments and environment, then try again.",
  };
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
      // The decoder drops the character that the limit splits.
      return truncated() ? new StringDecoder("utf8").write(bytes) : bytes.toString("utf8");
    },
  };
}

/** Reads the remaining output. Waits neither for a silent child that holds the pipes nor forever for one that keeps writing. */
async function drain(closed: Promise<unknown>, seenBytes: () => number): Promise<void> {
  for (let pause = 0; pause < DRAIN_PAUSES; pause++) {
    const before = seenBytes();
    const end = await Promise.race([closed, sleep(DRAIN_PAUSE_MS, "idle", { ref: false })]);
    if (end !== "idle") return;
    await nextTurn(); // if the event loop was blocked, let it read the pending output first
    if (seenBytes() === before) return;
  }
}
