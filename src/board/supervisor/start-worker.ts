import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { runMark } from "../worker/run-mark.ts";
import type { RunOrder, WorkerOrder } from "../worker/run-order.ts";
import { sendSignal } from "./end-processes.ts";
import type { RunLog } from "./log/run-log.ts";
import { createRunGroup, insideGroup } from "./run-cgroup.ts";

export interface ProcessExit {
  /** Null when a signal ended the process. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StartedWorker {
  readonly pid: number;
  /** The id of its process group; undefined once the worker has exited, because the id may be reused. */
  group(): number | undefined;
  readonly exited: Promise<ProcessExit>;
  /** Sends the worker the time at which the last renewal of its lease was requested. */
  beat(ageMs: number): void;
  /** The end of its output. */
  tail(): string;
  /** Waits until all output is in the log, but only briefly for a surviving process that holds the pipes open. */
  waitForOutput(): Promise<void>;
}

/** The number of the file descriptor that delivers the order to a worker and closes when its supervisor exits. */
export const WORKER_PIPE = 3;
const TAIL_CHARS = 4_000;
const DRAIN_MS = 2_000;

/** Starts the worker in its own session. Its order goes through a pipe that closes when this process exits for any reason. */
export async function startWorker(
  { location, board, run, worker }: RunOrder,
  log: RunLog,
  leaseAgeMs: number,
): Promise<StartedWorker> {
  const [program] = worker.argv;
  const inGroup = insideGroup(
    (await isStartable(program)) ? await createRunGroup(runMark(board, run)) : undefined,
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
    // The system's own message would contain all arguments.
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
  pipe.on("error", () => pipe.destroy()); // the worker has closed its end
  const order: WorkerOrder = { location, board, run };
  const send = (line: string): void => void (pipe.destroyed || pipe.write(`${line}\n`));
  const beat = (ageMs: number): void => send(String(Math.round(Date.now() - ageMs)));
  send(JSON.stringify(order));
  beat(leaseAgeMs);
  const closed = once(child, "close");
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, signal) => {
      sendSignal(-pid, "SIGKILL"); // at once, before the group id can be reused
      resolve({ code, signal });
    });
  });
  return {
    pid,
    group: () => (child.exitCode === null && child.signalCode === null ? pid : undefined),
    exited,
    beat,
    tail: () => tail.trimEnd(),
    async waitForOutput() {
      const late = new AbortController();
      await Promise.race([
        closed,
        sleep(DRAIN_MS, undefined, { signal: late.signal }).catch(() => undefined),
      ]);
      late.abort();
      await turn(); // lets Node read the rest of the pipes, in case this process was suspended during the wait
      for (const stream of [child.stdout, child.stderr, pipe]) stream?.destroy();
    },
  };
}

/** Checked first, so that a missing program is reported by `spawn` and not by the shell that joins the cgroup. */
async function isStartable(program: string): Promise<boolean> {
  if (!isAbsolute(program)) return true;
  return access(program, constants.X_OK).then(
    () => true,
    () => false,
  );
}
