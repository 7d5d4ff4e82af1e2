import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { insideGroup, makeRunGroup } from "./run-cgroup.ts";
import type { RunLog } from "./run-log.ts";
import { runMark } from "./run-mark.ts";
import type { RunOrder, WorkerOrder } from "./run-order.ts";

export interface ProcessExit {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StartedWorker {
  readonly pid: number;
  /** The number of its process group, for as long as that is surely its own. */
  group(): number | undefined;
  readonly exited: Promise<ProcessExit>;
  /** Tells the worker how long ago the last renewal of its lease was asked for. */
  beat(ageMs: number): void;
  /** The last of what it has printed. */
  tail(): string;
  /** Waits until all of its output is in the log, but not for a holder of its pipes that nobody can end. */
  drained(): Promise<void>;
}

/** Number of the descriptor over which a worker gets its order, and learns that its supervisor is gone. */
export const WORKER_PIPE = 3;
const TAIL_CHARS = 4_000;
const DRAIN_MS = 2_000;

/**
 * Starts the worker as the leader of a session and group of its own. Its order goes through a pipe that closes when this
 * process ends, however it ends.
 */
export async function startWorker(
  { place, board, run, worker }: RunOrder,
  log: RunLog,
  leaseAgeMs: number,
): Promise<StartedWorker> {
  const [program] = worker.argv;
  const inGroup = insideGroup(
    (await isStartable(program)) ? await makeRunGroup(runMark(board, run)) : undefined,
    worker.argv,
  );
  const [file, ...args] = inGroup;
  const child = spawn(file, args, {
    cwd: worker.cwd,
    env: worker.env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const { pid } = child;
  if (pid === undefined) {
    const [failure] = (await once(child, "error")) as unknown[];
    // The system's own words would show all arguments.
    throw new AppError(
      "process-unstartable",
      `Cannot start ${program} in ${worker.cwd}: ${errnoOf(failure)}.`,
    );
  }
  let tail = "";
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new StringDecoder("utf8");
    stream?.on("data", (chunk: Buffer) => {
      log.write(chunk);
      tail = (tail + decoder.write(chunk)).slice(-TAIL_CHARS);
    });
    stream?.on("error", () => stream.destroy());
  }
  const pipe = child.stdio[WORKER_PIPE] as Writable;
  pipe.on("error", () => pipe.destroy()); // whoever does not read it simply does not hear from us
  const order: WorkerOrder = { place, board, run };
  const tell = (line: string): void => void (pipe.destroyed || pipe.write(`${line}\n`));
  const beat = (ageMs: number): void => tell(String(Math.round(Date.now() - ageMs)));
  tell(JSON.stringify(order));
  beat(leaseAgeMs);
  const closed = once(child, "close");
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, signal) => {
      // Now, while its number cannot have become another group's.
      killGroup(pid);
      resolve({ code, signal });
    });
  });
  return {
    pid,
    group: () => (child.exitCode === null && child.signalCode === null ? pid : undefined),
    exited,
    beat,
    tail: () => tail.trimEnd(),
    async drained() {
      const late = new AbortController();
      await Promise.race([
        closed,
        sleep(DRAIN_MS, undefined, { signal: late.signal }).catch(() => undefined),
      ]);
      late.abort();
      await turn(); // after a halt of ours, what is in the pipes is read before they are let go of
      for (const stream of [child.stdout, child.stderr, pipe]) stream?.destroy();
    },
  };
}

/** What a shell would have to say about it, the system says in its own words. */
async function isStartable(program: string): Promise<boolean> {
  if (!isAbsolute(program)) return true;
  return access(program, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (!["ESRCH", "EPERM"].includes(errnoOf(error) ?? "")) throw error;
  }
}
