import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { stringify } from "yaml";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { writeFileAtomic } from "../../../lib/files.ts";
import type { CommandContext } from "../../context.ts";

const REMOVAL_MS = 30_000;
const REMOVE_SANDBOX = ["sandbox", "rm", "--force", "--task", "default", "--terminal.backend", "docker"];

/** Another process of this very program, at work on the stage. */
export interface Actor {
  readonly pid: number;
  /** Standard output, line by line, until it has ended. */
  readonly lines: AsyncIterable<string>;
  readonly ended: Promise<ActorEnd>;
  /** SIGKILL: it has no chance to write anything down. */
  kill(): void;
}

export interface ActorEnd {
  /** Null when it was killed. */
  readonly exitCode: number | null;
  readonly stderr: string;
}

/** A home and a project of the demonstration's own. All of it is gone at the end, however it ends. */
export interface Stage extends AsyncDisposable {
  /** The root home of everything that is started here. */
  readonly home: string;
  readonly project: string;
  /** A file for nobody but us, outside of the project. */
  readonly scriptPath: string;
  /** Decides where commands run. A sandbox that comes of it is removed at the end, too. */
  setTerminal(settings: Readonly<Record<string, unknown>>): Promise<void>;
  /** Starts this program in the project, as the person would; an aborted signal kills it. */
  start(args: readonly string[], signal: AbortSignal): Actor;
  /** Begins to remove a sandbox that does not work; there may be none. */
  dropSandbox(): void;
}

export async function openStage({ variables, terminal }: CommandContext): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "hermes-demo-"));
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  const env = ownVariables(variables, home);
  const running = new Set<Child>();
  let mayHaveSandbox = false;
  let removal: Promise<ActorEnd> | undefined;

  const play = (args: readonly string[]): Child =>
    spawn(process.execPath, hermes(args), { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
  const remove = async (): Promise<ActorEnd> => {
    const child = play(REMOVE_SANDBOX);
    const giveUp = setTimeout(() => child.kill("SIGKILL"), REMOVAL_MS);
    child.stdout.resume();
    const end = await endOf(child).catch((error: unknown) => ({ exitCode: null, stderr: messageOf(error) }));
    clearTimeout(giveUp);
    mayHaveSandbox = false;
    return end;
  };
  /** For `process.exit` by somebody else: a reader that left, or a second Ctrl-C. */
  const onExit = (): void => {
    for (const child of running) child.kill("SIGKILL");
    if (mayHaveSandbox)
      spawnSync(process.execPath, hermes(REMOVE_SANDBOX), {
        cwd: project,
        env,
        stdio: "ignore",
        timeout: REMOVAL_MS,
      });
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", onExit);
  await Promise.all([mkdir(home, { mode: 0o700 }), mkdir(project)]);

  return {
    home,
    project,
    scriptPath: join(folder, "script.json"),
    dropSandbox() {
      removal ??= remove();
    },
    async setTerminal(settings) {
      await writeFileAtomic(join(home, "config.yaml"), stringify({ terminal: settings }));
      mayHaveSandbox ||= settings["backend"] !== "local";
    },
    start(args, signal) {
      signal.throwIfAborted();
      const child = play(args);
      running.add(child);
      const kill = (): void => void child.kill("SIGKILL");
      signal.addEventListener("abort", kill, { once: true });
      child.once("close", () => {
        running.delete(child);
        signal.removeEventListener("abort", kill);
      });
      const ended = endOf(child);
      return { pid: child.pid ?? 0, lines: createInterface({ input: child.stdout }), ended, kill };
    },
    async [Symbol.asyncDispose]() {
      for (const child of running) child.kill("SIGKILL");
      if (removal !== undefined) await removal;
      else if (mayHaveSandbox) {
        const { exitCode, stderr } = await remove();
        if (exitCode !== 0)
          terminal.note(`hermes: the sandbox of the demo is still there: ${stderr.trimEnd()}`);
      }
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      process.off("exit", onExit);
    },
  };
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** The words that start this program once more. */
function hermes(args: readonly string[]): string[] {
  const [, entry] = process.argv;
  if (entry === undefined) throw new AppError("process-unstartable", "Hermes does not know its own file.");
  return [...process.execArgv, entry, ...args];
}

/** Without the person's settings: they belong to the person's work, not to ours. */
function ownVariables(variables: CommandContext["variables"], home: string): NodeJS.ProcessEnv {
  const kept = Object.entries(variables).filter(([name]) => !/^(?:HERMES|TERMINAL)_/.test(name));
  return { ...Object.fromEntries(kept), HERMES_HOME: home };
}

async function endOf(child: Child): Promise<ActorEnd> {
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [exitCode] = (await once(child, "close")) as [number | null];
  return { exitCode, stderr };
}
