import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { AppError } from "../../../lib/errors.ts";
import { runProcess } from "../../../lib/process/process.ts";
import { waitAtMost } from "../../../lib/time/wait-at-most.ts";
import { SHELL_ARGUMENTS } from "../../channel/driver.ts";
import { quoteWord } from "../../channel/quote.ts";
import type { RunningShell } from "../../channel/start-shell.ts";
import { CHANNELS_IN_SANDBOX, explainFailure, MISSING, retryLostMounts } from "./bubblewrap.ts";

/** A running sandbox, in which shells can be started. All of them see each other's processes and network. */
export interface SandboxHub extends AsyncDisposable {
  /** False after the program that starts the shells has exited; started shells continue. */
  readonly isOpen: boolean;
  startShell(): Promise<RunningShell>;
}

export interface HubParts {
  /** The command line that runs a program in the sandbox, without the program. */
  readonly sandbox: readonly string[];
  readonly mkfifo: string;
  readonly mode: string;
  readonly env: Readonly<Record<string, string>>;
  /** The folder on the host that the sandbox sees, read-only, as CHANNELS_IN_SANDBOX. */
  readonly channels: string;
}

const CLOSE_WITHIN_MS = 2_000;
const MKFIFO_WITHIN_MS = 10_000;

/**
 * Argument: ID. Connects a shell with its FIFOs and reports its start and its end on descriptor 4, which is closed in the
 * shell, so that no command can fake a report.
 */
const CHANNEL = `
cd / # a folder that always exists
exec <"${CHANNELS_IN_SANDBOX}/$1.in" >"${CHANNELS_IN_SANDBOX}/$1.out" 2>"${CHANNELS_IN_SANDBOX}/$1.err"
printf 'started %s %s\\n' "$1" "$$" >&4
sh ${SHELL_ARGUMENTS.map(quoteWord).join(" ")} 4>&-
printf 'exited %s %s\\n' "$1" "$?" >&4
`;

/**
 * The program that a sandbox runs. A shell without job control starts background processes with INT and QUIT ignored, and
 * then Ctrl-C would have no effect on the commands of a channel.
 */
const HUB = `
if [ -n "$BASH_VERSION" ]; then set -m; __run=; else __run='env --default-signal=INT,QUIT setsid'; fi
echo ready
while read -r verb id; do
  case $verb in
    open) $__run sh -c ${quoteWord(CHANNEL)} hermes-channel "$id" 4>&1 </dev/null & ;;
    kill) kill -KILL -- "-$id" 2>/dev/null ;;
  esac
done
`;
const START = `if command -v bash >/dev/null 2>&1; then exec bash --noprofile --norc -c ${quoteWord(HUB)}; else exec sh -c ${quoteWord(HUB)}; fi`;

interface StartListeners {
  onStarted(pid: string): void;
  onExited(code: number): void;
}

/** Starts bubblewrap. Throws `local-sandbox-unavailable` with the reason if this machine cannot create the sandbox. */
export function startHub(parts: HubParts, signal: AbortSignal): Promise<SandboxHub> {
  return retryLostMounts(() => openHub(parts, signal));
}

async function openHub(
  { sandbox, mkfifo, mode, env, channels }: HubParts,
  signal: AbortSignal,
): Promise<SandboxHub> {
  const [program = "", ...args] = [...sandbox, "sh", "-c", START];
  const child = spawn(program, args, { env, cwd: "/", stdio: "pipe", detached: true });
  const shells = new Map<string, StartListeners>();
  let isOpen = true;
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  void ended.then(() => {
    isOpen = false;
  });
  child.stdin.on("error", () => undefined); // the end of the program is reported by `exit`
  await waitUntilReady(child, mode, signal);
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [word, id = "", value = ""] = line.split(" ");
    if (word === "started") shells.get(id)?.onStarted(value);
    else if (word === "exited") shells.get(id)?.onExited(Number(value));
  });
  child.stderr.resume();

  async function startShell(): Promise<RunningShell> {
    const id = randomBytes(8).toString("hex");
    const fifos = await openFifos({ channels, mkfifo, env }, id);
    const events = new EventEmitter();
    let pid = "";
    let exitCode: number | null = null;
    let openStreams = 2;
    const finish = (code: number | null): void => {
      if (!shells.delete(id)) return;
      exitCode = code;
      fifos.release();
      events.emit("exit", code, null);
    };
    shells.set(id, {
      onStarted(value) {
        pid = value;
        fifos.release();
      },
      onExited: finish,
    });
    for (const stream of [fifos.stdout, fifos.stderr])
      stream.once("close", () => {
        openStreams--;
        if (openStreams > 0) return;
        finish(null); // if the hub has died, only this reports the end
        events.emit("close", exitCode, null);
      });
    void ended.then(() => {
      if (pid === "") finish(null);
    });
    child.stdin.write(`open ${id}\n`);
    return {
      stdin: fifos.stdin,
      stdout: fifos.stdout,
      stderr: fifos.stderr,
      get exitCode() {
        return exitCode;
      },
      kill: () => pid !== "" && child.stdin.write(`kill ${pid}\n`),
      once: (event: string, listener: (...values: never[]) => void) =>
        events.once(event, listener as (...values: unknown[]) => void),
    };
  }

  return {
    get isOpen() {
      return isOpen;
    },
    startShell,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await waitAtMost(CLOSE_WITHIN_MS, ended);
      if (isOpen) child.kill("SIGKILL");
      for (const stream of [child.stdout, child.stderr]) stream.destroy(); // background jobs keep them open
    },
  };
}

async function waitUntilReady(
  child: ChildProcessWithoutNullStreams,
  mode: string,
  signal: AbortSignal,
): Promise<void> {
  let errorText = "";
  const collect = (bytes: Buffer): void => {
    errorText += bytes.toString("utf8");
  };
  child.stderr.on("data", collect);
  let stop = (): void => undefined;
  const failure = await new Promise<string | undefined>((resolve) => {
    child.stdout.once("data", () => resolve(undefined));
    child.once("error", () => resolve(MISSING));
    child.once("close", (code) => resolve(errorText || `bwrap ended with exit code ${code}`));
    stop = () => resolve("");
    signal.addEventListener("abort", stop, { once: true });
  });
  signal.removeEventListener("abort", stop);
  child.stderr.off("data", collect);
  if (signal.aborted) child.kill("SIGKILL");
  signal.throwIfAborted();
  if (failure !== undefined) throw explainFailure(mode, failure);
}

/**
 * Creates the FIFOs of a channel and opens our ends. An open FIFO needs a process at its other end, so we also hold the
 * shell's ends until the shell has opened them; `release` closes ours.
 */
async function openFifos(
  { channels, mkfifo, env }: Pick<HubParts, "channels" | "mkfifo" | "env">,
  id: string,
) {
  const paths = {
    in: join(channels, `${id}.in`),
    out: join(channels, `${id}.out`),
    err: join(channels, `${id}.err`),
  };
  const created = await runProcess(
    [mkfifo, "-m", "600", ...Object.values(paths)],
    { env },
    AbortSignal.timeout(MKFIFO_WITHIN_MS),
  );
  if (created.exitCode !== 0)
    throw new AppError("channel-unopened", `Cannot open a channel into the sandbox: ${created.stderr}`);
  const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
  // In this order no call blocks or fails, although the shell has not opened its ends yet.
  const held = [openSync(paths.in, O_RDONLY | O_NONBLOCK)];
  const stdin = openSync(paths.in, O_WRONLY | O_NONBLOCK);
  const stdout = openSync(paths.out, O_RDONLY | O_NONBLOCK);
  const stderr = openSync(paths.err, O_RDONLY | O_NONBLOCK);
  held.push(openSync(paths.out, O_WRONLY | O_NONBLOCK), openSync(paths.err, O_WRONLY | O_NONBLOCK));
  return {
    stdin: new Socket({ fd: stdin, readable: false, writable: true }),
    stdout: new Socket({ fd: stdout, readable: true, writable: false }),
    stderr: new Socket({ fd: stderr, readable: true, writable: false }),
    release(): void {
      for (const end of held.splice(0)) closeSync(end);
      for (const path of Object.values(paths)) rmSync(path, { force: true });
    },
  };
}
