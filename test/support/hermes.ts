import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { ENTRY, runInProcess } from "./built-program.ts";
import { withoutWarning } from "./node-warning.ts";
import { tempFolder } from "./temp-folder.ts";

export interface HermesRun {
  /** Null if the process was killed. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  json<Value>(): Value;
}

export interface HermesOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** `open` is a pipe that the caller writes to and ends. */
  readonly stdin?: string;
  readonly cwd?: string;
  /** For tests that need a real process, or several at once. */
  readonly ownProcess?: boolean;
  /** Called when the process has started; the process is killed when the promise resolves. */
  readonly killWhen?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** A temporary home, and the built program run in it; of the caller's environment only PATH is passed on. */
export async function tempHome() {
  const folder = await tempFolder();
  const home = folder.file("home");
  const base = { PATH: process.env["PATH"] ?? "", HOME: folder.path, HERMES_HOME: home };
  return {
    path: home,
    folder: folder.path,
    /** Runs the program to its end. */
    hermes: (args: readonly string[], options: HermesOptions = {}): Promise<HermesRun> =>
      needsProcess(args, options)
        ? startHermes(args, base, options).ended
        : runInProcess(args, { ...base, ...options.env }),
    /** Starts the program as a separate process and does not wait for its end. */
    start: (args: readonly string[], options: HermesOptions = {}) => startHermes(args, base, options),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Commands that only print, change stored data or call an engine: they read no input and start no other Hermes. */
const SELF_CONTAINED = new Set([
  ...["approvals", "audit", "config", "kanban", "model", "profile", "sandbox", "sessions", "status", "why"],
  ...["completion", "doctor", "insights", "prompt-size", "tools"],
]);
/** Verbs of these commands that read input, start another Hermes or run until they are stopped. */
const EXCEPTIONS = new Set(["attach", "daemon", "dispatch", "shell", "supervise", "tail", "watch"]);

/** Whether the test is about the process itself, or the command cannot run in the process of the test. */
function needsProcess(
  args: readonly string[],
  { stdin, cwd, killWhen, ownProcess = false }: HermesOptions,
): boolean {
  const [command = "", ...rest] = args[0] === "-p" ? args.slice(2) : args;
  const isHelp = command === "help" || args.at(-1) === "--help";
  const isSelfContained =
    isHelp || (SELF_CONTAINED.has(command) && !rest.some((word) => EXCEPTIONS.has(word)));
  return ownProcess || [stdin, cwd, killWhen].some((given) => given !== undefined) || !isSelfContained;
}

interface RunningHermes {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<HermesRun>;
}

function startHermes(
  args: readonly string[],
  base: Record<string, string>,
  options: HermesOptions,
): RunningHermes {
  const child = spawn(process.execPath, [ENTRY, ...args], {
    env: { ...base, ...options.env },
    cwd: options.cwd,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  child.stdin.on("error", () => undefined); // it may exit without reading
  if (options.stdin !== "open") child.stdin.end(options.stdin ?? "");
  const ended = new Promise<HermesRun>((resolve, reject) => {
    const closed = new AbortController();
    options.killWhen?.(closed.signal).then(
      () => child.kill("SIGKILL"),
      () => undefined, // the process ended first
    );
    child.once("error", reject);
    child.once("close", (exitCode) => {
      closed.abort();
      resolve({ exitCode, ...output, json: () => JSON.parse(output.stdout) });
    });
  });
  return { child, ended: ended.then(withoutWarning) };
}
