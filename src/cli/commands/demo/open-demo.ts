import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { stringify } from "yaml";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { readTextFile, writeFileAtomic } from "../../../lib/files/files.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import type { CommandContext } from "../../context.ts";

/** The progress file of the long check, one line per case. */
export const PROGRESS = "checked.txt";
export const CASES = 24;
/** The long check is killed after this many cases. */
export const KILLED_AFTER_CASES = 8;

const GIVE_UP_MS = 300_000; // enough even on a busy machine
const REMOVAL_MS = 30_000;
const REMOVE_SANDBOX = ["sandbox", "rm", "--force", "--task", "default", "--terminal.backend", "docker"];

/** A Hermes process that the demo starts. */
export interface DemoProcess {
  readonly pid: number;
  /** The lines of standard output, until the process ends. */
  readonly lines: AsyncIterable<string>;
  readonly ended: Promise<DemoProcessEnd>;
  /** Sends SIGKILL, so that the process cannot save anything. */
  kill(): void;
}

export interface DemoProcessEnd {
  /** Null if the process was killed. */
  readonly exitCode: number | null;
  readonly stderr: string;
}

/** The error for an unexpected result of the demo. */
export function demoFailed(what: string, stderr = ""): AppError {
  const output = stderr === "" ? "" : ` Its error output:\n${stderr.trimEnd()}`;
  return new AppError("checks-failed", `The demo failed: ${what}.${output}`, {
    hint: "Check this machine with `hermes doctor`.",
  });
}

export interface DemoOptions {
  /** Skips the pauses for readers. */
  readonly isFast: boolean;
  /** Whether the demo runs until the user ends it. */
  readonly staysOpen?: boolean;
}

/** The temporary home and project of a demo. Both are removed at the end, even after a failure. */
export interface Demo extends AsyncDisposable {
  /** Aborts with the command, or if the demo takes too long. */
  readonly signal: AbortSignal;
  /** The root home of all processes of the demo. */
  readonly home: string;
  readonly project: string;
  /** The script of the model, outside the project. */
  readonly scriptPath: string;
  /** Writes the terminal settings. A sandbox that they create is removed at the end. */
  setTerminal(settings: Readonly<Record<string, unknown>>): Promise<void>;
  /** Starts Hermes in the project; aborting the signal kills it. */
  start(args: readonly string[], signal: AbortSignal): DemoProcess;
  /** Starts the removal of a sandbox that does not work, without waiting for it. */
  dropSandbox(): void;
  /** Gives the user time to read, unless the demo is fast. */
  pause(ms: number): Promise<void>;
  /** The lines of the progress file. */
  casesDone(): Promise<readonly string[]>;
  /** Prints that each case was checked exactly once; throws if not. */
  confirmCases(): Promise<void>;
  /** Prints the duration and the commands that a user may try next, each with its description. */
  end(steps: readonly (readonly [command: string, why: string])[]): void;
}

export async function openDemo(
  { variables, terminal, signal: ownSignal }: CommandContext,
  { isFast, staysOpen = false }: DemoOptions,
): Promise<Demo> {
  const startedAt = performance.now();
  const limit = new AbortController();
  if (!staysOpen) setTimeout(() => limit.abort(demoFailed("it took too long")), GIVE_UP_MS).unref();
  const signal = AbortSignal.any([ownSignal, limit.signal]);
  const folder = await mkdtemp(join(tmpdir(), "hermes-demo-"));
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  const env = ownVariables(variables, home);
  const running = new Set<Child>();
  let mayHaveSandbox = false;
  let removal: Promise<DemoProcessEnd> | undefined;

  const spawnHermes = (args: readonly string[]): Child =>
    spawn(process.execPath, hermes(args), { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
  const remove = async (): Promise<DemoProcessEnd> => {
    const child = spawnHermes(REMOVE_SANDBOX);
    const giveUp = setTimeout(() => child.kill("SIGKILL"), REMOVAL_MS);
    child.stdout.resume();
    const end = await endOf(child).catch((error: unknown) => ({ exitCode: null, stderr: messageOf(error) }));
    clearTimeout(giveUp);
    mayHaveSandbox = false;
    return end;
  };
  /** Cleans up if other code calls `process.exit`, as after a second Ctrl-C. */
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

  const casesDone = async (): Promise<readonly string[]> => {
    const progress = (await readTextFile(join(project, PROGRESS))) ?? "";
    return progress.split("\n").filter((line) => line !== "");
  };

  return {
    signal,
    home,
    project,
    pause: (ms) => systemClock.sleep(isFast ? 0 : ms, signal),
    casesDone,
    async confirmCases() {
      const cases = await casesDone();
      if (cases.length !== CASES || new Set(cases).size !== CASES)
        throw demoFailed(`${PROGRESS} has ${cases.length} lines instead of ${CASES}`);
      terminal.print(`    ${CASES} of ${CASES} cases were checked, each exactly once.`);
    },
    end(steps) {
      const seconds = Math.round((performance.now() - startedAt) / 1_000);
      const next = terminal.colours.bold("Next, with a real model:");
      terminal.print(`\nThe demo took ${seconds} s and leaves nothing behind. ${next}\n`);
      const lines = steps.map(([command, why]) => [`${ownName()} ${command}`, why] as const);
      const width = Math.max(...lines.map(([command]) => command.length)) + 2;
      for (const [command, why] of lines) terminal.print(`  ${command.padEnd(width)}${why}`);
    },
    scriptPath: join(folder, "script.json"),
    dropSandbox() {
      removal ??= remove();
    },
    async setTerminal(settings) {
      await writeFileAtomic(join(home, "config.yaml"), stringify({ terminal: settings }));
      mayHaveSandbox ||= settings["backend"] !== "local";
    },
    start(args, within) {
      within.throwIfAborted();
      const child = spawnHermes(args);
      running.add(child);
      const kill = (): void => void child.kill("SIGKILL");
      within.addEventListener("abort", kill, { once: true });
      child.once("close", () => {
        running.delete(child);
        within.removeEventListener("abort", kill);
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
          terminal.note(`hermes: the sandbox of the demo was not removed: ${stderr.trimEnd()}`);
      }
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      process.off("exit", onExit);
    },
  };
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** The arguments of node that start this program again. */
function hermes(args: readonly string[]): string[] {
  const [, entry] = process.argv;
  if (entry === undefined)
    throw new AppError("process-unstartable", "Hermes cannot find its own program file.");
  return [...process.execArgv, entry, ...args];
}

/** The command that the user types: `./hermes` in a checkout, else `hermes`. */
function ownName(): string {
  const root = dirname(dirname(process.argv[1] ?? ""));
  return process.cwd() === root && existsSync(join(root, "hermes")) ? "./hermes" : "hermes";
}

/** The environment without the user's Hermes settings, which must not affect the demo. */
function ownVariables(variables: CommandContext["variables"], home: string): NodeJS.ProcessEnv {
  const kept = Object.entries(variables).filter(([name]) => !/^(?:HERMES|TERMINAL)_/.test(name));
  return { ...Object.fromEntries(kept), HERMES_HOME: home };
}

async function endOf(child: Child): Promise<DemoProcessEnd> {
  const [stderr, [exitCode]] = await Promise.all([text(child.stderr), once(child, "close")]);
  return { exitCode: exitCode as number | null, stderr };
}
