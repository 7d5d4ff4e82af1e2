import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { inhabitants, MARK, markedProcesses, oddFiles } from "../support/leftovers.ts";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { scale } from "../support/scale.ts";
import { describeWith, type RunningPart } from "../support/services.ts";

const run = promisify(execFile);
const ENTRY = fileURLToPath(new URL("../../dist/main.cjs", import.meta.url));
const soon = { timeout: 150_000, interval: 50 };
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGTERM: 143 } as const;
const BIG_BYTES = 300_000_000; // holes, so that copying is under way when it is ended

type Signal = keyof typeof EXIT_CODES;
type Event = Signal | "a closed window" | "a reader of stdout that leaves" | "a reader of stderr that leaves";
const EVENTS: readonly Event[] = [
  "SIGHUP",
  "SIGINT",
  "SIGTERM",
  "SIGKILL",
  "a closed window",
  "a reader of stdout that leaves",
  "a reader of stderr that leaves",
];

interface Verb {
  readonly name: string;
  readonly words: (place: Place) => readonly string[];
  /** What shows, in the list of processes here and in the sandbox, that it is in the middle of its work. */
  readonly begun: RegExp;
  /** Where it prints until it is ended; nothing else tells it that a reader has left. */
  readonly prints?: "stdout" | "stderr";
  /** It ends by itself, perhaps before the event. */
  readonly isShort?: boolean;
}

const sandbox = (...words: readonly string[]) => ["sandbox", ...words];
const CLIENT =
  /docker.* (exec|ps|inspect|top|commit|stop|rm|images?|create|version|container|cp|save|rename)\b/;
const SHELL = /hermes-channel/;

const EVERYWHERE: readonly Verb[] = [
  { name: "exec", words: () => sandbox("exec", "--", "sleep 6001"), begun: /sleep 6001/ },
  {
    name: "exec that prints",
    words: () => sandbox("exec", "--", "yes 6002"),
    begun: /yes 6002/,
    prints: "stdout",
  },
  {
    name: "exec that complains",
    words: () => sandbox("exec", "--", "yes 6003 >&2"),
    begun: /yes 6003/,
    prints: "stderr",
  },
  { name: "cp in", words: ({ big }) => sandbox("cp", big, ":copied"), begun: SHELL, isShort: true },
  { name: "-z", words: ({ model }) => ["-z", "long", "-m", model], begun: /sleep 6004/ },
  {
    name: "-z that answers",
    words: ({ model }) => ["-z", "short", "-m", model],
    begun: SHELL,
    isShort: true,
  },
];
const WITH_JOBS: readonly Verb[] = [
  { name: "attach", words: ({ job }) => sandbox("attach", job), begun: SHELL, prints: "stdout" },
  { name: "jobs", words: () => sandbox("jobs"), begun: SHELL, isShort: true },
  { name: "jobs start", words: () => sandbox("jobs", "start", "--", "true"), begun: SHELL, isShort: true },
  {
    name: "jobs log --follow",
    words: ({ job }) => sandbox("jobs", "log", "-f", job),
    begun: SHELL,
    prints: "stdout",
  },
];
const WITH_CONTAINERS: readonly Verb[] = [
  { name: "list", words: () => sandbox("list", "--size"), begun: CLIENT, isShort: true },
  { name: "status", words: () => sandbox("status"), begun: CLIENT, isShort: true },
  { name: "explain", words: () => sandbox("explain"), begun: CLIENT, isShort: true },
  { name: "gc", words: () => sandbox("gc"), begun: CLIENT, isShort: true },
  { name: "snapshots", words: () => sandbox("snapshots"), begun: CLIENT, isShort: true },
  { name: "prune", words: () => sandbox("prune", "--keep", "5"), begun: CLIENT, isShort: true },
  { name: "snapshot", words: () => sandbox("snapshot"), begun: CLIENT, isShort: true },
  { name: "fork", words: ({ fresh }) => sandbox("fork", fresh()), begun: CLIENT, isShort: true },
  {
    name: "restore",
    words: () => sandbox("restore", "kept", "--yes", "--force"),
    begun: CLIENT,
    isShort: true,
  },
  { name: "stop", words: () => sandbox("stop", "--force"), begun: CLIENT, isShort: true },
  { name: "rm", words: () => sandbox("rm", "--force"), begun: CLIENT, isShort: true },
];
const SHELL_VERB: Verb = {
  name: "shell",
  words: () => sandbox("shell"),
  begun: /(?<!\S)bash$/m,
};

interface Place extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly temporary: string;
  readonly big: string;
  readonly model: string;
  /** A job that prints. */
  readonly job: string;
  /** A task that has no sandbox yet. */
  fresh(): string;
  /** What runs in its sandboxes besides their keepers and the job. */
  inside(): Promise<string[]>;
  containers(): Promise<string[]>;
}

async function openPlace(service: RunningPart<"docker">, settings: Record<string, string>): Promise<Place> {
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
    home.docker("top", id, "-eo", "pid,ppid,stat,args").catch(() => ""),
  );
  return (await Promise.all(tables)).flatMap(inhabitants);
}

const hermes = async (place: Place, ...words: readonly string[]): Promise<string> =>
  (await run(process.execPath, [ENTRY, ...words], { env: place.env, cwd: place.folder })).stdout.trim();

/** In a terminal of its own, below a shell that looks at the terminal before and afterwards. */
async function inTerminal(
  signal: Signal,
  words: readonly string[],
  { env, folder }: Pick<Place, "env" | "folder">,
) {
  const { default: pty } = await import("@lydell/node-pty");
  const script = 'stty -g; "$@"; echo "code=$?"; stty -g';
  const child = pty.spawn("/bin/sh", ["-c", script, "sh", process.execPath, ENTRY, ...words], {
    env,
    cwd: folder,
  });
  let screen = "";
  child.onData((text: string) => {
    const all = screen + text;
    screen = all.length < 20_000 ? all : all.slice(0, 1_000) + all.slice(-10_000); // its beginning and its end
  });
  let isOver = false;
  const over = new Promise<void>((resolve) => child.onExit(() => resolve()));
  return {
    exitCode: over.then(async () => {
      isOver = true;
      // The last lines may come after the end of the process; what was killed leaves a client that draws over them.
      const last = signal === "SIGKILL" ? /code=\d+/ : /code=\d+\s+[\da-f]+:[^\n]*\n/;
      await vi.waitFor(() => expect(screen).toMatch(last), soon);
      return Number(/code=(\d+)/.exec(screen)?.[1]);
    }),
    isOver: async () => isOver,
    end: async (pid: number) => void process.kill(pid, signal),
    complaint() {
      if (signal === "SIGKILL") return []; // nobody is left who could put them back
      const modes = [...screen.matchAll(/^[\da-f]+(?::[\da-f]+){10,}/gm)].map(([text]) => text);
      return modes.length === 2 && modes[0] === modes[1] ? [] : [`terminal modes: ${modes.join(", ")}`];
    },
  };
}

async function inWindow(words: readonly string[], { env, folder }: Pick<Place, "env" | "folder">) {
  const server = ["-S", join(folder, "tmux"), "-f", "/dev/null"];
  const tmux = (...args: readonly string[]) => run("tmux", [...server, ...args], { env, cwd: folder });
  await tmux("new-session", "-d", "-x", "100", "-y", "30", process.execPath, ENTRY, ...words);
  return {
    exitCode: Promise.resolve(undefined),
    isOver: () =>
      tmux("has-session").then(
        () => false,
        () => true,
      ),
    end: async () => void (await tmux("kill-window")),
    complaint: () => [],
  };
}

async function inPipes(
  event: Event,
  words: readonly string[],
  { env, folder }: Pick<Place, "env" | "folder">,
) {
  const child = spawn(process.execPath, [ENTRY, ...words], {
    env,
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.resume();
  child.stderr.resume();
  let isOver = false;
  const exitCode = new Promise<number | undefined>((resolve) =>
    child.once("exit", (code) => {
      isOver = true;
      resolve(code ?? undefined);
    }),
  );
  const leaves = event === "a reader of stdout that leaves" ? child.stdout : child.stderr;
  return {
    exitCode,
    isOver: async () => isOver,
    end: async () => void leaves.destroy(),
    complaint: () => [],
  };
}

/** Ends the verb in the middle of its work and resolves to all that can be seen of it afterwards. */
async function endInTheMiddle(place: Place, verb: Verb, event: Event) {
  const mark = randomBytes(8).toString("hex");
  const at = { folder: place.folder, env: { ...place.env, [MARK]: mark } };
  const words = verb.words(place);
  const started =
    event in EXIT_CODES
      ? await inTerminal(event as Signal, words, at)
      : event === "a closed window"
        ? await inWindow(words, at)
        : await inPipes(event, words, at);
  const ours = async () =>
    (await markedProcesses(mark)).filter(({ command }) => command.startsWith(`${process.execPath} ${ENTRY}`));
  let pid = 0;
  await vi.waitFor(async () => {
    if (verb.isShort && (await started.isOver())) return;
    pid = (await ours())[0]?.pid ?? 0;
    expect(pid).toBeGreaterThan(0);
    // Not in our own words, which say what is only about to happen.
    const here = (await markedProcesses(mark)).filter(({ command }) => !command.includes(ENTRY));
    const seen = [...here.map(({ command }) => command), ...(await place.inside())].join("\n");
    expect(seen).toMatch(verb.begun);
  }, soon);
  if (!(await started.isOver())) {
    await started.end(pid).catch((error: unknown) => {
      if (!verb.isShort) throw error; // it was quicker
    });
  }
  await vi.waitFor(async () => expect(await ours()).toEqual([]), soon);
  return { mark, exitCode: await started.exitCode, complaint: started.complaint() };
}

function mayHappenTo({ isShort = false, prints }: Verb, event: Event): boolean {
  const [, stream] = /^a reader of (\w+)/.exec(event) ?? [];
  return stream === undefined || isShort || prints === stream;
}

/** One verb after the other is ended by each event; what is left is listed from outside. */
function leavesNothing(
  verbs: readonly Verb[],
  place: () => Place,
  { keepsContainers }: { readonly keepsContainers: boolean },
): void {
  const cases = verbs.flatMap((verb) =>
    EVENTS.filter((event) => mayHappenTo(verb, event))
      // What is killed cannot remove its sandbox; the next process does.
      .filter((event) => event !== "SIGKILL" || (keepsContainers && verb.begun !== CLIENT))
      .map((event) => [verb.name, event, verb] as const),
  );
  test.each(cases.filter((_, index) => index % scale.signalCaseStep === 0))(
    "%s, ended by %s",
    async (_, event, verb) => {
      const at = place();
      const before = new Set(await at.inside()); // the job that is there all the time
      const { mark, exitCode, complaint } = await endInTheMiddle(at, verb, event);
      const isKnown = exitCode !== undefined && event in EXIT_CODES && !verb.isShort;
      if (isKnown) expect(exitCode).toBe(EXIT_CODES[event as Signal]);
      const left = async () => [
        ...(await markedProcesses(mark)).map(({ command }) => `here: ${command}`),
        ...(await at.inside())
          .filter((command) => !before.has(command) && command !== "sleep 0.3")
          .map((command) => `inside: ${command}`),
        ...(keepsContainers ? [] : (await at.containers()).map((id) => `container: ${id}`)),
        // What is killed leaves a file that it was writing.
        ...(event === "SIGKILL" ? [] : await readdir(at.temporary)).filter(
          (name) => !name.startsWith("hermes-jobs-"),
        ),
        ...(event === "SIGKILL" ? [] : await oddFiles(join(at.folder, "home"))),
        ...complaint,
      ];
      await vi.waitFor(async () => expect(await left()).toEqual([]), soon);
    },
  );
}

const LOOP = "while :; do echo tick; sleep 0.3; done";

describeWith("docker", "what is ended in the middle of its work leaves nothing behind", (service) => {
  describe.each([
    ["on this machine", { TERMINAL_ENV: "local" }, [...EVERYWHERE, ...WITH_JOBS]],
    ["in the sandbox of a task", {}, [...EVERYWHERE, ...WITH_JOBS, SHELL_VERB, ...WITH_CONTAINERS]],
  ] as const)("%s", (_, settings, verbs) => {
    let place: Place;
    beforeAll(async () => {
      place = await openPlace(service, settings);
      const job = await hermes(place, "sandbox", "jobs", "start", "--", LOOP);
      if (!("TERMINAL_ENV" in settings)) await hermes(place, "sandbox", "snapshot", "--name", "kept");
      place = { ...place, job };
    });
    afterAll(async () => {
      if ("TERMINAL_ENV" in settings) await hermes(place, "sandbox", "jobs", "kill", place.job);
      await place[Symbol.asyncDispose]();
    });
    leavesNothing(verbs, () => place, { keepsContainers: true });
  });

  describe("in a sandbox of its own", () => {
    let place: Place;
    beforeAll(async () => {
      place = await openPlace(service, { TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "false" });
      await hermes(place, "sandbox", "exec", "--", "true");
    });
    afterAll(() => place[Symbol.asyncDispose]());
    leavesNothing([...EVERYWHERE, SHELL_VERB], () => place, { keepsContainers: false });
  });
});
