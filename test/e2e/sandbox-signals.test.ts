import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { leftoverFiles, MARK, markedProcesses, processesBesidesKeeper } from "../support/leftovers.ts";
import { spawnInPty } from "../support/pty.ts";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { scale } from "../support/scale.ts";
import { describeWith, type RunningPart } from "../support/services.ts";

const run = promisify(execFile);
const ENTRY = fileURLToPath(new URL("../../dist/main.cjs", import.meta.url));
const soon = { timeout: 150_000, interval: 50 };
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGTERM: 143 } as const;
const BIG_BYTES = 300_000_000; // a sparse file, large enough that the copy still runs when it is ended

type Signal = keyof typeof EXIT_CODES;
type Event =
  | Signal
  | "a closed window"
  | "a reader of stdout that closes the pipe"
  | "a reader of stderr that closes the pipe";
const EVENTS: readonly Event[] = [
  "SIGHUP",
  "SIGINT",
  "SIGTERM",
  "SIGKILL",
  "a closed window",
  "a reader of stdout that closes the pipe",
  "a reader of stderr that closes the pipe",
];

interface Verb {
  readonly name: string;
  readonly words: (lab: SignalsLab) => readonly string[];
  /** Matches a process, here or in the sandbox, that shows that the command is at work. */
  readonly atWork: RegExp;
  /** The stream that it prints to until it is ended; only printing reveals that a reader has closed the pipe. */
  readonly prints?: "stdout" | "stderr";
  /** Whether the command ends by itself, possibly before the event. */
  readonly isShort?: boolean;
}

const sandbox = (...words: readonly string[]) => ["sandbox", ...words];
const CLIENT =
  /docker.* (exec|ps|inspect|top|commit|stop|rm|images?|create|version|container|cp|save|rename)\b/;
const SHELL = /hermes-channel/;

const EVERYWHERE: readonly Verb[] = [
  { name: "exec", words: () => sandbox("exec", "--", "sleep 6001"), atWork: /sleep 6001/ },
  {
    name: "exec that prints",
    words: () => sandbox("exec", "--", "yes 6002"),
    atWork: /yes 6002/,
    prints: "stdout",
  },
  {
    name: "exec that complains",
    words: () => sandbox("exec", "--", "yes 6003 >&2"),
    atWork: /yes 6003/,
    prints: "stderr",
  },
  { name: "cp in", words: ({ big }) => sandbox("cp", big, ":copied"), atWork: SHELL, isShort: true },
  { name: "-z", words: ({ model }) => ["-z", "long", "-m", model], atWork: /sleep 6004/ },
  {
    name: "-z that answers",
    words: ({ model }) => ["-z", "short", "-m", model],
    atWork: SHELL,
    isShort: true,
  },
];
const WITH_JOBS: readonly Verb[] = [
  { name: "attach", words: ({ job }) => sandbox("attach", job), atWork: SHELL, prints: "stdout" },
  { name: "jobs", words: () => sandbox("jobs"), atWork: SHELL, isShort: true },
  { name: "jobs start", words: () => sandbox("jobs", "start", "--", "true"), atWork: SHELL, isShort: true },
  {
    name: "jobs log --follow",
    words: ({ job }) => sandbox("jobs", "log", "-f", job),
    atWork: SHELL,
    prints: "stdout",
  },
];
const WITH_CONTAINERS: readonly Verb[] = [
  { name: "list", words: () => sandbox("list", "--size"), atWork: CLIENT, isShort: true },
  { name: "status", words: () => sandbox("status"), atWork: CLIENT, isShort: true },
  { name: "explain", words: () => sandbox("explain"), atWork: CLIENT, isShort: true },
  { name: "gc", words: () => sandbox("gc"), atWork: CLIENT, isShort: true },
  { name: "snapshots", words: () => sandbox("snapshots"), atWork: CLIENT, isShort: true },
  { name: "prune", words: () => sandbox("prune", "--keep", "5"), atWork: CLIENT, isShort: true },
  { name: "snapshot", words: () => sandbox("snapshot"), atWork: CLIENT, isShort: true },
  { name: "fork", words: ({ fresh }) => sandbox("fork", fresh()), atWork: CLIENT, isShort: true },
  {
    name: "restore",
    words: () => sandbox("restore", "kept", "--yes", "--force"),
    atWork: CLIENT,
    isShort: true,
  },
  { name: "stop", words: () => sandbox("stop", "--force"), atWork: CLIENT, isShort: true },
  { name: "rm", words: () => sandbox("rm", "--force"), atWork: CLIENT, isShort: true },
];
const SHELL_VERB: Verb = {
  name: "shell",
  words: () => sandbox("shell"),
  atWork: /(?<!\S)bash$/m,
};

interface SignalsLab extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly temporary: string;
  readonly big: string;
  readonly model: string;
  /** A job that prints. */
  readonly job: string;
  /** The name of a task without a sandbox. */
  fresh(): string;
  /** The processes in its sandboxes, except their keepers and the job. */
  inside(): Promise<string[]>;
  containers(): Promise<string[]>;
}

async function openLab(
  service: RunningPart<"docker">,
  settings: Record<string, string>,
): Promise<SignalsLab> {
  const home = await openSandboxHome(service);
  const temporary = join(home.folder, "tmp");
  const big = join(home.folder, "big");
  const script = join(home.folder, "script.json");
  await mkdir(temporary);
  await writeFile(big, "");
  await truncate(big, BIG_BYTES);
  const tool = (command: string) => ({ tools: [{ name: "terminal", input: { command } }] });
  const turns = [
    { when: "long", answers: [tool("sleep 6004"), { text: "done" }] },
    { when: "short", answers: [tool("sleep 0.5"), { text: "done" }] },
  ];
  await writeFile(script, JSON.stringify({ turns }));
  const env = { ...home.variables, ...settings, TMPDIR: temporary, TERM: "xterm" };
  return {
    env,
    folder: home.folder,
    temporary,
    big,
    model: `scripted:${script}`,
    job: "",
    fresh: () => `task-${randomBytes(4).toString("hex")}`,
    inside: () => inside(home),
    containers: home.containers,
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

async function inside(home: SandboxHome): Promise<string[]> {
  const tables = (await home.containers()).map((id) =>
    home.docker("top", id, "-eo", "pid,ppid,stat,etime,args").catch(() => ""),
  );
  return (await Promise.all(tables)).flatMap(processesBesidesKeeper);
}

const hermes = async (lab: SignalsLab, ...words: readonly string[]): Promise<string> =>
  (await run(process.execPath, [ENTRY, ...words], { env: lab.env, cwd: lab.folder })).stdout.trim();

/** In its own terminal, below a shell that reads the terminal modes before and afterwards. */
function inTerminal(
  signal: Signal,
  words: readonly string[],
  { env, folder }: Pick<SignalsLab, "env" | "folder">,
) {
  const script = 'stty -g; "$@"; echo "code=$?"; stty -g';
  const child = spawnInPty([process.execPath, ENTRY, ...words], { env, cwd: folder, script });
  let screen = "";
  child.onData((text: string) => {
    const all = screen + text;
    screen = all.length < 20_000 ? all : all.slice(0, 1_000) + all.slice(-10_000); // keeps its start and its end
  });
  // A killed command leaves a client that overwrites the last line.
  const last = signal === "SIGKILL" ? /code=\d+/ : /code=\d+\s+[\da-f]+:[^\n]*\n/;
  return {
    async exitCode() {
      await vi.waitFor(() => expect(screen).toMatch(last), soon);
      child.kill();
      return Number(/code=(\d+)/.exec(screen)?.[1]);
    },
    hasEnded: async () => last.test(screen),
    end: async (pid: number) => void process.kill(pid, signal),
    problems() {
      if (signal === "SIGKILL") return []; // a killed process cannot restore them
      const modes = [...screen.matchAll(/^[\da-f]+(?::[\da-f]+){10,}/gm)].map(([text]) => text);
      return modes.length === 2 && modes[0] === modes[1] ? [] : [`terminal modes: ${modes.join(", ")}`];
    },
  };
}

async function inWindow(words: readonly string[], { env, folder }: Pick<SignalsLab, "env" | "folder">) {
  const server = ["-S", join(folder, "tmux"), "-f", "/dev/null"];
  const tmux = (...args: readonly string[]) => run("tmux", [...server, ...args], { env, cwd: folder });
  await tmux("new-session", "-d", "-x", "100", "-y", "30", process.execPath, ENTRY, ...words);
  return {
    exitCode: () => Promise.resolve(undefined),
    hasEnded: () =>
      tmux("has-session").then(
        () => false,
        () => true,
      ),
    end: async () => void (await tmux("kill-window")),
    problems: () => [],
  };
}

function inPipes(
  event: Event,
  words: readonly string[],
  { env, folder }: Pick<SignalsLab, "env" | "folder">,
) {
  const child = spawn(process.execPath, [ENTRY, ...words], {
    env,
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.resume();
  child.stderr.resume();
  let hasEnded = false;
  const exited = new Promise<number | undefined>((resolve) =>
    child.once("exit", (code) => {
      hasEnded = true;
      resolve(code ?? undefined);
    }),
  );
  const leaves = event === "a reader of stdout that closes the pipe" ? child.stdout : child.stderr;
  return {
    exitCode: () => exited,
    hasEnded: async () => hasEnded,
    end: async () => void leaves.destroy(),
    problems: () => [],
  };
}

/** Ends the verb in the middle of its work and resolves with everything that it left behind. */
async function endInTheMiddle(lab: SignalsLab, verb: Verb, event: Event) {
  const mark = randomBytes(8).toString("hex");
  const at = { folder: lab.folder, env: { ...lab.env, [MARK]: mark } };
  const words = verb.words(lab);
  const started =
    event in EXIT_CODES
      ? inTerminal(event as Signal, words, at)
      : event === "a closed window"
        ? await inWindow(words, at)
        : inPipes(event, words, at);
  const ours = async () =>
    (await markedProcesses(mark)).filter(({ command }) => command.startsWith(`${process.execPath} ${ENTRY}`));
  let pid = 0;
  await vi.waitFor(async () => {
    if (verb.isShort && (await started.hasEnded())) return;
    pid = (await ours())[0]?.pid ?? 0;
    expect(pid).toBeGreaterThan(0);
    // Exclude our own command lines: they name the command before it has started.
    const here = (await markedProcesses(mark)).filter(({ command }) => !command.includes(ENTRY));
    const seen = [...here.map(({ command }) => command), ...(await lab.inside())].join("\n");
    expect(seen).toMatch(verb.atWork);
  }, soon);
  if (!(await started.hasEnded())) {
    await started.end(pid).catch((error: unknown) => {
      if (!verb.isShort) throw error; // it ended first
    });
  }
  await vi.waitFor(async () => expect(await ours()).toEqual([]), soon);
  return { mark, exitCode: await started.exitCode(), problems: started.problems() };
}

function mayHappenTo({ isShort = false, prints }: Verb, event: Event): boolean {
  const [, stream] = /^a reader of (\w+)/.exec(event) ?? [];
  return stream === undefined || isShort || prints === stream;
}

/** Ends each verb by each event and lists, from outside, what it leaves behind. */
function leavesNothing(
  verbs: readonly Verb[],
  lab: () => SignalsLab,
  { keepsContainers }: { readonly keepsContainers: boolean },
): void {
  const cases = verbs.flatMap((verb) =>
    EVENTS.filter((event) => mayHappenTo(verb, event))
      // A killed command cannot remove its sandbox; the next process does.
      .filter((event) => event !== "SIGKILL" || (keepsContainers && verb.atWork !== CLIENT))
      .map((event) => [verb.name, event, verb] as const),
  );
  test.each(cases.filter((_, index) => index % scale.signalCaseStep === 0))(
    "%s, ended by %s",
    async (_, event, verb) => {
      const at = lab();
      const before = new Set(await at.inside()); // the job that runs all the time
      const { mark, exitCode, problems } = await endInTheMiddle(at, verb, event);
      const isKnown = exitCode !== undefined && event in EXIT_CODES && !verb.isShort;
      if (isKnown) expect(exitCode).toBe(EXIT_CODES[event as Signal]);
      const left = async () => [
        ...(await markedProcesses(mark)).map(({ command }) => `here: ${command}`),
        ...(await at.inside())
          .filter((command) => !before.has(command) && command !== "sleep 0.3")
          .map((command) => `inside: ${command}`),
        ...(keepsContainers ? [] : (await at.containers()).map((id) => `container: ${id}`)),
        // A killed command leaves the file that it was writing.
        ...(event === "SIGKILL" ? [] : await readdir(at.temporary)).filter(
          (name) => !name.startsWith("hermes-jobs-"),
        ),
        ...(event === "SIGKILL" ? [] : await leftoverFiles(join(at.folder, "home"))),
        ...problems,
      ];
      await vi.waitFor(async () => expect(await left()).toEqual([]), soon);
    },
  );
}

const LOOP = "while :; do echo tick; sleep 0.3; done";

describeWith(
  "docker",
  "a command that is ended in the middle of its work leaves nothing behind",
  (service) => {
    describe.each([
      ["on this machine", { TERMINAL_ENV: "local" }, [...EVERYWHERE, ...WITH_JOBS]],
      ["in the sandbox of a task", {}, [...EVERYWHERE, ...WITH_JOBS, SHELL_VERB, ...WITH_CONTAINERS]],
    ] as const)("%s", (_, settings, verbs) => {
      let lab: SignalsLab;
      beforeAll(async () => {
        lab = await openLab(service, settings);
        const job = await hermes(lab, "sandbox", "jobs", "start", "--", LOOP);
        if (!("TERMINAL_ENV" in settings)) await hermes(lab, "sandbox", "snapshot", "--name", "kept");
        lab = { ...lab, job };
      });
      afterAll(async () => {
        if ("TERMINAL_ENV" in settings) await hermes(lab, "sandbox", "jobs", "kill", lab.job);
        await lab[Symbol.asyncDispose]();
      });
      leavesNothing(verbs, () => lab, { keepsContainers: true });
    });

    describe("in a sandbox of its own", () => {
      let lab: SignalsLab;
      beforeAll(async () => {
        lab = await openLab(service, { TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "false" });
        await hermes(lab, "sandbox", "exec", "--", "true");
      });
      afterAll(() => lab[Symbol.asyncDispose]());
      leavesNothing([...EVERYWHERE, SHELL_VERB], () => lab, { keepsContainers: false });
    });
  },
);
