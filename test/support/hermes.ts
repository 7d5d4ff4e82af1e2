import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { withoutWarning } from "./node-warning.ts";
import { tempFolder } from "./temp-folder.ts";

const ENTRY = fileURLToPath(new URL("../../dist/main.cjs", import.meta.url));

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
  /** Called when it has started; it is killed without warning when this resolves. */
  readonly killWhen?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** A home of its own, and the built program run in it; nothing of the caller's environment leaks in but PATH. */
export async function tempHome() {
  const folder = await tempFolder();
  const home = folder.file("home");
  return {
    path: home,
    folder: folder.path,
    hermes: (args: readonly string[], options: HermesOptions = {}) =>
      startHermes(args, { HOME: folder.path, HERMES_HOME: home }, options).ended,
    /** The same without waiting for its end. */
    start: (args: readonly string[], options: HermesOptions = {}) =>
      startHermes(args, { HOME: folder.path, HERMES_HOME: home }, options),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
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
    env: { PATH: process.env["PATH"] ?? "", ...base, ...options.env },
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
