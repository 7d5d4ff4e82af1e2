import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { ENTRY, runInProcess } from "./built-program.ts";
import { withoutWarning } from "./node-warning.ts";
import { tempFolder } from "./temp-folder.ts";

export interface HermesRun {
  /** Null when it was killed. */
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
  /** For tests of what only a process shows, and of several at once. */
  readonly ownProcess?: boolean;
  /** Called when it has started; it is killed without warning when this resolves. */
  readonly killWhen?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** A home of its own, and the built program run in it; nothing of the caller's environment leaks in but PATH. */
export async function tempHome() {
  const folder = await tempFolder();
  const home = folder.file("home");
  const base = { PATH: process.env["PATH"] ?? "", HOME: folder.path, HERMES_HOME: home };
  return {
    path: home,
    folder: folder.path,
    /** Runs it to its end. */
    hermes: (args: readonly string[], options: HermesOptions = {}): Promise<HermesRun> =>
      needsProcess(args, options)
        ? startHermes(args, base, options).ended
        : runInProcess(args, { ...base, ...options.env }),
    /** Runs it as a process of its own, and does not wait for its end. */
    start: (args: readonly string[], options: HermesOptions = {}) => startHermes(args, base, options),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Commands that only answer, change what is stored or talk to an engine: they read no input and start no other Hermes. */
const ANSWERING = new Set(["config", "kanban", "profile", "sandbox", "sessions", "status"]);
/** Verbs among them that do, or that live until they are stopped. */
const OTHERS = new Set(["attach", "daemon", "dispatch", "shell", "supervise", "tail", "watch"]);

/** Whether the test is about the process itself, or the command cannot run in that of the test. */
function needsProcess(
  args: readonly string[],
  { stdin, cwd, killWhen, ownProcess = false }: HermesOptions,
): boolean {
  const [command = "", ...rest] = args[0] === "-p" ? args.slice(2) : args;
  const isAnswer = ANSWERING.has(command) && !rest.some((word) => OTHERS.has(word));
  return ownProcess || [stdin, cwd, killWhen].some((given) => given !== undefined) || !isAnswer;
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
  child.stdin.on("error", () => undefined); // it may end without having read
  if (options.stdin !== "open") child.stdin.end(options.stdin ?? "");
  const ended = new Promise<HermesRun>((resolve, reject) => {
    const over = new AbortController();
    options.killWhen?.(over.signal).then(
      () => child.kill("SIGKILL"),
      () => undefined, // it ended first
    );
    child.once("error", reject);
    child.once("close", (exitCode) => {
      over.abort();
      resolve({ exitCode, ...output, json: () => JSON.parse(output.stdout) });
    });
  });
  return { child, ended: ended.then(withoutWarning) };
}
