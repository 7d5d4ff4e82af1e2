import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { readTextFile } from "../../src/lib/files.ts";
import { ENTRY, type ProgramRun, runInProcess } from "./built-program.ts";
import { tempHome } from "./hermes.ts";
import { withoutWarning } from "./node-warning.ts";
import { pathOf, type RunningPart } from "./services.ts";

const run = promisify(execFile);
const GIVE_UP_MS = 500_000; // ends what hangs; some of them sleep for longer, until the test has seen enough

export interface SandboxRun {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
  json<Value>(): Value;
}

/** A `hermes sandbox …` on its way. */
export interface StartedSandbox {
  readonly pid: number;
  readonly ended: Promise<SandboxRun>;
  /** Resolves when it has printed the text; rejects with what it said when it ends before. */
  printed(text: string): Promise<void>;
  kill(): void;
  /** Closes the reading end of its standard output. */
  hangUp(): void;
}

export interface SandboxRunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Undefined is /dev/null, `open` a pipe that never ends, everything else a pipe with that in it. */
  readonly stdin?: string | Uint8Array | undefined;
}

/** A home of its own whose commands run at the real engine; all of its containers are gone at the end of the scope. */
export interface SandboxHome extends AsyncDisposable {
  readonly path: string;
  readonly folder: string;
  /** The whole environment that the program runs in. */
  readonly variables: Readonly<Record<string, string>>;
  /** Runs `hermes sandbox ARGS…` to its end; in this process, unless it is given input. */
  sandbox(args: readonly string[], options?: SandboxRunOptions): Promise<SandboxRun>;
  /** The same as a process of its own. */
  start(args: readonly string[], options?: SandboxRunOptions): StartedSandbox;
  /** Runs one command in the sandbox of the task `default`. */
  exec(command: string, options?: SandboxRunOptions): Promise<SandboxRun>;
  /** Runs `hermes ARGS…` with the same settings to its end, in this process. */
  ask(args: readonly string[]): Promise<ProgramRun>;
  /** Starts `hermes ARGS…` with the same settings. */
  agent(args: readonly string[]): ReturnType<Awaited<ReturnType<typeof tempHome>>["start"]>;
  /** What the real client prints; throws when it fails. */
  docker(...args: readonly string[]): Promise<string>;
  /** Undefined until something has asked for it. */
  profileId(): Promise<string | undefined>;
  /** The ids of the profile's containers, in whatever state. */
  containers(): Promise<string[]>;
  /** The command lines that run in the one container of the home. */
  processes(): Promise<string>;
}

export async function openSandboxHome(
  { client, host, images }: Pick<RunningPart<"docker">, "client" | "host" | "images">,
  settings: Readonly<Record<string, string>> = {},
): Promise<SandboxHome> {
  const home = await tempHome();
  const base = {
    PATH: pathOf(client),
    HOME: home.folder,
    HERMES_HOME: home.path,
    DOCKER_HOST: host,
    TERMINAL_ENV: "docker",
    TERMINAL_DOCKER_IMAGE: images.bash,
    TERMINAL_DOCKER_NETWORK: "off",
    TERMINAL_CONTAINER_DISK: "0",
    ...settings,
  };
  const docker = async (...args: readonly string[]) => {
    const options = { env: { ...process.env, DOCKER_HOST: host }, maxBuffer: 64 * 1024 * 1024 };
    return (await run(client, args, options)).stdout.trim();
  };
  const profileId = async () => (await readTextFile(join(home.path, "profile-id")))?.trim();
  const containers = async () => {
    const id = await profileId();
    if (id === undefined) return []; // it never came to that
    const filter = `label=hermes-profile-id=${id}`;
    return lines(await docker("ps", "-aq", "--no-trunc", "--filter", filter));
  };
  const start = (args: readonly string[], options: SandboxRunOptions = {}) =>
    startSandbox(args, { ...base, ...options.env }, options.stdin);
  const sandbox = async (args: readonly string[], options: SandboxRunOptions = {}): Promise<SandboxRun> =>
    options.stdin === undefined
      ? runInProcess(["sandbox", ...args], { ...base, ...options.env })
      : start(args, options).ended;
  return {
    path: home.path,
    folder: home.folder,
    variables: base,
    start,
    sandbox,
    ask: (args) => runInProcess(args, base),
    agent: (args) => home.start(args, { env: base, cwd: home.folder }),
    exec: (command, options) => sandbox(["exec", "--", command], options),
    docker,
    profileId,
    containers,
    async processes() {
      const [id = ""] = await containers();
      return docker("top", id, "-eo", "pid,args");
    },
    async [Symbol.asyncDispose]() {
      const ids = await containers();
      if (ids.length > 0) await docker("rm", "-f", "-v", ...ids);
      await home[Symbol.asyncDispose]();
    },
  };
}

function startSandbox(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdin: SandboxRunOptions["stdin"],
): StartedSandbox {
  const words = [ENTRY, "sandbox", ...args];
  const child: ChildProcessByStdio<Writable | null, Readable, Readable> =
    stdin === undefined
      ? spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "pipe"] })
      : spawn(process.execPath, words, { env, stdio: "pipe" });
  const chunks: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
  const text = (name: "stdout" | "stderr") => Buffer.concat(chunks[name]).toString("utf8");
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => void chunks[name].push(chunk));
  }
  child.stdin?.on("error", () => undefined); // it may end without having read
  if (stdin !== "open") child.stdin?.end(stdin);
  const giveUp = setTimeout(() => child.kill("SIGKILL"), GIVE_UP_MS);
  const ended = new Promise<SandboxRun>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode) => {
      clearTimeout(giveUp);
      const stdout = text("stdout");
      const bytes = Buffer.concat(chunks.stdout);
      resolve({ exitCode, stdout, stderr: text("stderr"), bytes, json: () => JSON.parse(stdout) });
    });
  }).then(withoutWarning);
  return {
    pid: child.pid ?? 0,
    ended,
    kill: () => void child.kill("SIGKILL"),
    hangUp: () => void child.stdout.destroy(),
    printed: (wanted) =>
      new Promise((resolve, reject) => {
        const look = () => text("stdout").includes(wanted) && resolve();
        child.stdout.on("data", look);
        look();
        ended.then((end) => reject(new Error(`it ended (${end.exitCode}): ${end.stderr}`)), reject);
      }),
  };
}

function lines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}
