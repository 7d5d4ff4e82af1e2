import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startScriptedServer } from "../test/support/scripted-server.ts";

const HELP = `Usage: scripts/upgrades [--commit HASH]...

Builds earlier commits of this repository, fills a home with each, and opens that home with this checkout while a
turn, a daemon and a worker of the earlier commit are still running. Then the earlier program opens the home again. Each
command must work completely or refuse with an explanation, and nothing may be lost. Prints what happened; exits 1 if
something failed.
`;

/** Commits from the whole history, each with other tables than the one before. */
const COMMITS = [
  "a940f77", // the first with sessions
  "be7072f", // the first with boards
  "908a27f", // the first step of the board was edited in place
  "18ab4bc", // boards have an id
  "428c4b8", // the last before sessions with branches
];
const LIMIT_MS = 3 * 60_000;
/** The error of every version for a file that is newer than it. */
const REFUSAL = /has schema version \d+; this program knows only \d+/;
const CRASH = /^ {4}at .*[:)]|SqliteError|no such (column|table)|internal error|this is a bug/im;

interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly output: string;
}

interface Program {
  run(...args: string[]): Promise<Outcome>;
  /** Starts a command and does not wait for its end. */
  start(...args: string[]): Running;
}

interface Running extends Disposable {
  readonly child: ChildProcess;
  readonly end: Promise<Outcome>;
}

const { values: given } = parseArgs({
  options: { commit: { type: "string", multiple: true }, help: { type: "boolean", short: "h" } },
});
if (given.help === true) process.stdout.write(HELP);
else process.exitCode = await main(given.commit ?? COMMITS);

async function main(commits: readonly string[]): Promise<number> {
  let failed = 0;
  for (const commit of commits) {
    const work = mkdtempSync(join(tmpdir(), "hermes-upgrade-"));
    const problems: string[] = [];
    try {
      process.stdout.write(`${commit}: ${shell(`git log -1 --format=%s "$0"`, commit).trim()}\n`);
      await upgrade(commit, work, (name, problem, note) => {
        process.stdout.write(
          `  ${problem === "" ? "ok    " : "FAILED"}  ${name}${note === "" ? "" : `: ${note}`}\n`,
        );
        if (problem !== "") problems.push(`${commit}: ${name}: ${problem}`);
      });
    } finally {
      rmSync(work, { recursive: true, force: true, maxRetries: 5 });
    }
    for (const problem of problems) process.stdout.write(`\n${problem}\n`);
    failed += problems.length;
  }
  process.stdout.write(`${commits.length} commits, ${failed} failed checks\n`);
  return failed === 0 ? 0 : 1;
}

type Report = (name: string, problem: string, note: string) => void;

async function upgrade(commit: string, work: string, report: Report): Promise<void> {
  const go = join(work, "go"); // the commands of running turns wait for this file
  const wait = (mark: string) => ({
    tools: [
      {
        name: "terminal",
        input: { command: `touch ${join(work, mark)}; until [ -e ${go} ]; do sleep 0.2; done` },
      },
    ],
  });
  const complete = { tools: [{ name: "kanban_complete", input: { summary: "All is well." } }] };
  await using model = await startScriptedServer({
    answers: [{ text: "All is well.", times: 50 }],
    turns: [
      { when: "Wait for me", answers: [wait("turn"), { text: "I waited." }] },
      { when: "Quick task", answers: [complete] },
      { when: "Slow task", answers: [wait("worker"), complete] },
    ],
  });
  const home = join(work, "home");
  mkdirSync(join(home, "place"), { recursive: true });
  const older = program(build(commit), home);
  const newer = program(resolve("."), home);
  const hasBoard = (await older.run("kanban", "--help")).exitCode === 0;
  const check = (name: string, outcome: Outcome, expected: RegExp | string): void => {
    const isFine =
      outcome.exitCode === 0 &&
      !CRASH.test(outcome.output) &&
      (typeof expected === "string" ? outcome.output.includes(expected) : expected.test(outcome.output));
    report(name, isFine ? "" : `exit code ${outcome.exitCode}, expected ${expected}\n${outcome.output}`, "");
  };
  /** The old program must either work as before or refuse because the file is newer. */
  const checkOlder = (name: string, outcome: Outcome, expected: string): void => {
    const refused = outcome.exitCode !== 0 && REFUSAL.exec(outcome.output)?.[0];
    const worked = outcome.exitCode === 0 && outcome.output.includes(expected);
    const isFine = (refused || worked) && !CRASH.test(outcome.output);
    report(
      name,
      isFine ? "" : `exit code ${outcome.exitCode}\n${outcome.output}`,
      refused ? `refused, ${refused}` : "",
    );
  };

  // The earlier program fills the home.
  for (const [key, value] of [
    ["provider", "custom"],
    ["base_url", `${model.url}/v1`],
    ["default", "m"],
  ] as const)
    await older.run("config", "set", `model.${key}`, value);
  check("before: a one-shot", await older.run("-z", "The first haystack"), "All is well.");
  using turn = older.start("-z", "Wait for me");
  const daemons: Running[] = [];
  using _daemons = { [Symbol.dispose]: () => daemons.forEach((one) => void one[Symbol.dispose]()) };
  if (hasBoard) {
    for (const title of ["Quick task", "Slow task"])
      check(
        `before: kanban create "${title}"`,
        await older.run("kanban", "create", title, "--assignee", "default"),
        "",
      );
    await older.run("kanban", "create", "Later", "--hold");
    await older.run("kanban", "boards", "create", "second");
    await older.run("kanban", "--board", "second", "create", "On the second board");
    daemons.push(older.start("kanban", "daemon"));
    await until(
      async () =>
        (await tasksOf(older))["Quick task"] === "done" && (await tasksOf(older))["Slow task"] === "running",
    );
  }
  await until(async () => existsSync(join(work, "turn")));
  const before = await tasksOf(older);

  // This program opens the home while the turn, the daemon and the worker of the earlier one are running.
  check("upgrade: sessions search", await newer.run("sessions", "search", "haystack"), "haystack");
  check("upgrade: sessions show", await newer.run("sessions", "show", "latest"), "");
  check("upgrade: a one-shot", await newer.run("-z", "The second haystack"), "All is well.");
  check("upgrade: resume", await newer.run("-c", "-z", "More"), "All is well.");
  if (hasBoard) {
    const after = await tasksOf(newer);
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    report(
      "upgrade: all tasks",
      isSame ? "" : `${JSON.stringify(before)} became ${JSON.stringify(after)}`,
      Object.keys(after).join(", "),
    );
    check("upgrade: kanban repair", await newer.run("kanban", "repair"), "");
    check(
      "upgrade: second board",
      await newer.run("kanban", "--board", "second", "list"),
      "On the second board",
    );
    check("upgrade: kanban create", await newer.run("kanban", "create", "Of the new program", "--hold"), "");
  }

  // The commands end for which the processes of the earlier program wait.
  writeFileSync(go, "");
  const ended = await turn.end;
  checkOlder("meanwhile: the running turn", ended, "I waited.");
  if (hasBoard) {
    await until(async () => (await tasksOf(newer))["Slow task"] !== "running", 60_000).catch(() => undefined);
    const slow = (await tasksOf(newer))["Slow task"];
    const why = await newer.run("kanban", "why", "2");
    report("meanwhile: the running task", slow === "running" ? why.output : "", `${slow}`);
    for (const { child } of daemons) child.kill("SIGTERM");
    for (const { end } of daemons) {
      const { exitCode, output } = await end;
      const words = REFUSAL.exec(output)?.[0];
      report(
        "meanwhile: the daemon",
        CRASH.test(output) ? output : "",
        `exit code ${exitCode}${words ? `, refused, ${words}` : ""}`,
      );
    }
  }

  // The earlier program opens the home again.
  checkOlder("back: sessions list", await older.run("sessions", "list"), "haystack");
  checkOlder("back: a one-shot", await older.run("-z", "The third haystack"), "All is well.");
  if (hasBoard) {
    checkOlder("back: kanban list", await older.run("kanban", "list"), "Later");
    checkOlder(
      "back: kanban create",
      await older.run("kanban", "create", "Of the old program", "--hold"),
      "",
    );
    checkOlder("back: kanban dispatch", await older.run("kanban", "dispatch"), "");
  }

  // So does this one.
  check("again: sessions search", await newer.run("sessions", "search", "haystack"), "haystack");
  check("again: a one-shot", await newer.run("-z", "The fourth haystack"), "All is well.");
  if (hasBoard) {
    check("again: kanban repair", await newer.run("kanban", "repair"), "");
    await newer.run("kanban", "create", "Quick task, again", "--assignee", "default");
    using _daemon = newer.start("kanban", "daemon");
    await until(async () => {
      const tasks = await tasksOf(newer);
      return tasks["Quick task, again"] === "done" && tasks["Slow task"] === "done";
    }).catch(() => undefined);
    const tasks = await tasksOf(newer);
    const isDone = tasks["Quick task, again"] === "done" && tasks["Slow task"] === "done";
    report(
      "again: all tasks end",
      isDone ? "" : (await newer.run("kanban", "list")).output,
      JSON.stringify(tasks),
    );
  }
  const doctor = await newer.run("doctor");
  report(
    "again: doctor",
    CRASH.test(doctor.output) || /damaged|differs|missing/.test(doctor.output) ? doctor.output : "",
    "",
  );
}

async function tasksOf(program: Program): Promise<Record<string, string>> {
  const { exitCode, stdout } = await program.run("kanban", "list", "--json");
  const tasks = exitCode === 0 ? (JSON.parse(stdout) as { title: string; status: string }[]) : [];
  return Object.fromEntries(tasks.map(({ title, status }) => [title, status]).toSorted());
}

async function until(holds: () => Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
  const end = Date.now() + limitMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error("waited too long");
    await sleep(500);
  }
}

/** Runs the program of a checkout as a user of `home` would. */
function program(checkout: string, home: string): Program {
  const entry =
    ["dist/main.cjs", "dist/main.js"].map((name) => join(checkout, name)).find((path) => existsSync(path)) ??
    "";
  const start = (args: readonly string[]): Running => {
    const child = spawn(process.execPath, [entry, ...args], {
      cwd: join(home, "place"),
      env: { PATH: process.env["PATH"], HOME: home, LANG: "C.UTF-8" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, output] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    const limit = setTimeout(() => child.kill("SIGKILL"), 2 * LIMIT_MS);
    const end = new Promise<Outcome>((settle, reject) => {
      child.once("error", reject);
      child.once("close", (exitCode) => {
        clearTimeout(limit);
        settle({ exitCode, stdout, output });
      });
    });
    return { child, end, [Symbol.dispose]: () => void child.kill("SIGKILL") };
  };
  return { run: (...args) => start(args).end, start: (...args) => start(args) };
}

/** Builds a commit once per machine, from its own lock file. */
function build(commit: string): string {
  const cache = join(
    process.env["XDG_CACHE_HOME"] || join(process.env["HOME"] ?? tmpdir(), ".cache"),
    "hermes-test/commits",
  );
  const folder = join(cache, commit);
  if (existsSync(folder)) return folder;
  process.stderr.write(`upgrades: building ${commit}…\n`);
  mkdirSync(cache, { recursive: true });
  const building = mkdtempSync(join(cache, ".building-"));
  shell(
    `git archive "$0" | tar x -C "$1" && cd "$1" && ./hermes --version && mv "$1" "$2"`,
    commit,
    building,
    folder,
  );
  return folder;
}

function shell(script: string, ...args: string[]): string {
  const { stdout, stderr, status } = spawnSync("sh", ["-c", script, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${script}: ${stderr}`);
  return stdout;
}
