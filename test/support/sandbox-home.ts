import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { readTextFile } from "../../src/lib/files/files.ts";
import { ENTRY, type ProgramRun, runInProcess } from "./built-program.ts";
import { createEngineClient } from "./engine-client.ts";
import { tempHome } from "./hermes.ts";
import { withoutWarning } from "./node-warning.ts";
import { pathOf, type RunningPart } from "./services.ts";

const run = promisify(execFile);
const GIVE_UP_MS = 500_000; // ends hanging commands; some tests start longer sleeps and end them themselves

export interface SandboxRun {
  /** Null if a signal ended the command. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
  json<Value>(): Value;
}

/** A running `hermes sandbox …`. */
export interface StartedSandbox {
  readonly pid: number;
  readonly ended: Promise<SandboxRun>;
  /** Resolves when the command has printed the text; rejects with its output if it ends first. */
  printed(text: string): Promise<void>;
  kill(): void;
  /** Closes the read end of its standard output. */
  hangUp(): void;
}

export interface SandboxRunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Undefined is /dev/null, `open` is a pipe that never ends, and any other value is the content of a pipe. */
  readonly stdin?: string | Uint8Array | undefined;
}

/** A temporary home whose commands use the real engine; all its containers are removed at the end of the scope. */
export interface SandboxHome extends AsyncDisposable {
  readonly path: string;
  readonly folder: string;
  /** All environment variables of the program. */
  readonly variables: Readonly<Record<string, string>>;
  /** Runs `hermes sandbox ARGS…` to its end, in this process unless input is given. */
  sandbox(args: readonly string[], options?: SandboxRunOptions): Promise<SandboxRun>;
  /** Starts the same as a separate process. */
  start(args: readonly string[], options?: SandboxRunOptions): StartedSandbox;
  /** Runs one command in the sandbox of the task `default`. */
  exec(command: string, options?: SandboxRunOptions): Promise<SandboxRun>;
  /** Runs `hermes ARGS…` with the same settings to its end, in this process. */
  runHermes(args: readonly string[]): Promise<ProgramRun>;
  /** Starts `hermes ARGS…` with the same settings. */
  startHermes(args: readonly string[]): ReturnType<Awaited<ReturnType<typeof tempHome>>["start"]>;
  /** Runs the real client and returns its output; throws if it fails. */
  docker(...args: readonly string[]): Promise<string>;
  /** Undefined until a command has created the id. */
  profileId(): Promise<string | undefined>;
  /** The ids of the profile's containers, in any state. */
  containers(): Promise<string[]>;
  /** The command lines that run in a container. */
  top(container: string): Promise<string>;
  /** The command lines that run in the one container of the home. */
  processes(): Promise<string>;
}

export async function openSandboxHome(
  { client, host, socket, images }: Pick<RunningPart<"docker">, "client" | "host" | "socket" | "images">,
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
  const quick = createEngineClient(socket);
  const profileId = async () => (await readTextFile(join(home.path, "profile-id")))?.trim();
  const containers = async () => {
    const id = await profileId();
    return id === undefined ? [] : quick.containersOf(id); // maybe no command has created the id yet
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
    runHermes: (args) => runInProcess(args, base),
    startHermes: (args) => home.start(args, { env: base, cwd: home.folder }),
    exec: (command, options) => sandbox(["exec", "--", command], options),
    docker,
    profileId,
    containers,
    top: quick.top,
    async processes() {
      const [id = ""] = await containers();
      return quick.top(id);
    },
    async [Symbol.asyncDispose]() {
      await quick.remove(await containers());
      const id = await profileId();
      if (id !== undefined) await quick.removeImagesOf(id);
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
  child.stdin?.on("error", () => undefined); // it may exit without reading
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
        const check = () => text("stdout").includes(wanted) && resolve();
        child.stdout.on("data", check);
        check();
        ended.then((end) => reject(new Error(`it ended (${end.exitCode}): ${end.stderr}`)), reject);
      }),
  };
}
