import { spawn, spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startScriptedServer } from "../test/support/scripted-server.ts";

const HELP = `Usage: scripts/matrix [--node VERSION]... [--user root|plain] [--no-tests] [--rotate] [--pressure]

Fetches several versions of Node from the npm registry and runs Hermes with each, as root and as a plain
user, from a fresh copy of this checkout in a path with spaces. Prints a table; exits 1 if a cell failed.

  --node VERSION   only this version; may be repeated
  --user NAME      only this user
  --no-tests       skip the smoke tests
  --rotate         only one version (22 or newer) and one user, another one each day; skip the smoke tests
  --pressure       no table: run many tasks under constant garbage collection, on Node 24 unless --node is given
`;

/** The first and the latest release of each supported major version. */
const NODES = ["20.19.0", "22.14.0", "22", "24.0.0", "24", "26"];
const USERS = ["root", "plain"] as const;
type User = (typeof USERS)[number];
const NOBODY = 65_534;
const FOLDER = "a path (with späces)";
/** From this version on nothing needs to be compiled, so the compilers are hidden from PATH. */
const FIRST_WITHOUT_COMPILER = 22;
const COMPILERS = /^(.*-)?(g\+\+|gcc|cc|c\+\+|clang|clang\+\+|make|gmake|python)([\d.-]|$)/;
const TESTS = [
  "src/lib",
  "src/sessions/session-store.test.ts",
  "src/sessions/search",
  "src/board/open-board.test.ts",
  "test/board-contracts/sqlite-known-bugs.test.ts",
  "src/board/supervisor",
  "src/board/worker",
  "test/e2e/launcher.test.ts",
  "test/e2e/one-shot.test.ts",
  "test/e2e/kanban-worker.test.ts",
];
const PRESSURE = { oneShots: 200, tasks: 50, atOnce: 4 };
const STEP_LIMIT_MS = 20 * 60_000;
const DAY_MS = 24 * 3_600_000;

const MODEL = {
  answers: [
    { tools: [{ name: "terminal", input: { command: "echo $((40 + 2))" } }] },
    { text: "All is well." },
  ],
  turns: [
    {
      when: "Try the board",
      answers: [
        { tools: [{ name: "terminal", input: { command: "echo $((40 + 2)) > answer.txt" } }] },
        { tools: [{ name: "kanban_complete", input: { summary: "All is well." } }] },
      ],
    },
  ],
};

interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly output: string;
}

/** A copy of this checkout with one Node, as one user. */
interface Cell {
  readonly node: string;
  readonly user: User;
  /** Runs a command line in the copy, without our own environment variables. */
  run(script: string): Promise<Outcome>;
  [Symbol.dispose](): void;
}

interface Step {
  readonly name: string;
  /** Returns why the step failed, or an empty text. */
  run(cell: Cell, model: string): Promise<string>;
}

const { values: given } = parseArgs({
  options: {
    node: { type: "string", multiple: true },
    user: { type: "string" },
    "no-tests": { type: "boolean" },
    rotate: { type: "boolean" },
    pressure: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  },
});

function expectOf({ exitCode, output }: Outcome, part: string): string {
  return exitCode === 0 && output.includes(part)
    ? ""
    : `exit code ${exitCode}, expected «${part}»\n${output}`;
}

const SMOKE: Step = {
  name: "smoke tests",
  run: async (cell) => expectOf(await cell.run(`npx vitest run ${TESTS.join(" ")}`), " passed"),
};

const STEPS: readonly Step[] = [
  { name: "demo", run: async (cell) => expectOf(await cell.run("./hermes demo"), "./hermes doctor") },
  { name: "demo board", run: async (cell) => expectOf(await cell.run("./hermes demo board"), "kanban why") },
  {
    name: "one-shot",
    async run(cell, model) {
      const settings = { "model.provider": "custom", "model.base_url": `${model}/v1`, "model.default": "m" };
      const set = Object.entries(settings).map(([key, value]) => `./hermes config set ${key} ${value}`);
      const run = await cell.run(`${set.join(" && ")} && ./hermes -z "Try yourself"`);
      return expectOf(run, "All is well.");
    },
  },
  {
    name: "sandbox exec",
    run: async (cell) => expectOf(await cell.run("./hermes sandbox exec -- 'echo $((40 + 2))'"), "42"),
  },
  {
    name: "kanban",
    async run(cell) {
      const made = await cell.run(`./hermes kanban create "Try the board" --assignee default --json`);
      if (made.exitCode !== 0) return made.output;
      const pass = await cell.run("./hermes kanban dispatch");
      if (pass.exitCode !== 0) return pass.output;
      return waitForDone(cell, 1);
    },
  },
  {
    name: "package",
    async run(cell) {
      const scripts = Number(cell.node.split(".")[0]) < FIRST_WITHOUT_COMPILER ? "" : "--ignore-scripts";
      // npm may compile here, and make fails in some paths.
      const run = await cell.run(`
        prefix=$(mktemp -d /tmp/hermes-installed-XXXXXX)
        npm pack --silent &&
          npm install --silent --global ${scripts} --prefix "$prefix" ./hermes-agent-*.tgz &&
          "$prefix/bin/hermes" kanban list
        result=$?
        rm -rf "$prefix"
        exit "$result"`);
      return expectOf(run, "Try the board");
    },
  },
];

if (given.help === true) process.stdout.write(HELP);
else process.exitCode = await main();

async function main(): Promise<number> {
  const work = mkdtempSync(join(tmpdir(), "hermes-matrix-"));
  spawnSync("chmod", ["755", work]);
  try {
    await using model = await startScriptedServer(MODEL);
    if (given.pressure === true) return await pressure(work, model.url);
    return await table(work, model.url);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function chosenCells(): { node: string; user: User }[] {
  const cells = (given.node ?? NODES).flatMap((node) => USERS.map((user) => ({ node, user })));
  const mine = cells.filter(({ user }) => user === (given.user ?? user));
  if (given.rotate !== true) return mine;
  // CI runs on Node 20 anyway, where compiling SQLite takes minutes.
  const quick = mine.filter(({ node }) => Number.parseInt(node, 10) >= FIRST_WITHOUT_COMPILER);
  return quick.slice(Math.trunc(Date.now() / DAY_MS) % quick.length).slice(0, 1);
}

/** Runs every step in every cell and prints the table. After a failed step, the other steps of the cell still run. */
async function table(work: string, model: string): Promise<number> {
  const steps = given.rotate === true || given["no-tests"] === true ? STEPS : [...STEPS, SMOKE];
  const rows: string[][] = [["node", "user", "install", ...steps.map(({ name }) => name)]];
  const failures: string[] = [];
  for (const { node, user } of chosenCells()) {
    if (user === "root" && process.getuid?.() !== 0) {
      rows.push([node, user, "skipped: not run as root"]);
      continue;
    }
    using cell = openCell(work, node, user);
    const started = performance.now();
    const installed = await cell.run("./hermes --version && ./hermes status");
    const row = [cell.node, user, `${((performance.now() - started) / 1_000).toFixed(0)} s`];
    if (installed.exitCode !== 0) failures.push(`${cell.node} ${user} install:\n${installed.output}`);
    for (const step of installed.exitCode === 0 ? steps : []) {
      process.stderr.write(`matrix: ${cell.node} ${user}: ${step.name}…\n`);
      const why = await step.run(cell, model);
      row.push(why === "" ? "ok" : "FAILED");
      if (why !== "") failures.push(`${cell.node} ${user} ${step.name}:\n${why}`);
    }
    rows.push(installed.exitCode === 0 ? row : [...row, "FAILED"]);
    process.stderr.write(`matrix: ${row.join("  ")}\n`);
  }
  for (const failure of failures) process.stdout.write(`${failure}\n\n`);
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  for (const row of rows) {
    process.stdout.write(
      `${row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd()}\n`,
    );
  }
  return failures.length === 0 ? 0 : 1;
}

/** Waits until `count` tasks of the board are done; returns why they are not, or an empty text. */
async function waitForDone(cell: Cell, count: number): Promise<string> {
  const until = Date.now() + STEP_LIMIT_MS;
  for (;;) {
    const { exitCode, stdout, output } = await cell.run("./hermes kanban list --status done --json");
    if (exitCode !== 0) return output;
    if ((JSON.parse(stdout) as unknown[]).length >= count) return "";
    if (Date.now() > until) return (await cell.run("./hermes kanban; ./hermes kanban diagnostics")).output;
    await sleep(500);
  }
}

/** Runs tasks under constant garbage collection, which crashes a native module that loses an object or frees it twice. */
async function pressure(work: string, model: string): Promise<number> {
  for (const node of given.node ?? ["24"]) {
    using cell = openCell(work, node, process.getuid?.() === 0 ? "root" : "plain");
    const set = `for pair in provider:custom base_url:${model}/v1 default:m; do ./hermes config set "model.\${pair%%:*}" "\${pair#*:}"; done`;
    // Added to the entry, because supervisors and workers start from it too, and they do not inherit Node options.
    const collect = `require("v8").setFlagsFromString("--expose-gc"); setInterval(require("vm").runInNewContext("gc"), 2).unref();`;
    const ready = await cell.run(`./hermes status && ${set} && sed -i '2i ${collect}' dist/main.cjs`);
    if (ready.exitCode !== 0) throw new Error(ready.output);
    let left = PRESSURE.oneShots;
    const ends = new Map<string, number>();
    const worker = async () => {
      while (left-- > 0) {
        const run = await cell.run(`node dist/main.cjs -z "Try yourself"`);
        const end =
          run.exitCode === 0 && run.stdout === "All is well.\n" ? "ok" : `exit code ${run.exitCode}`;
        if (end !== "ok") process.stderr.write(`${run.output}\n`);
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: PRESSURE.atOnce }, worker));
    const create = `for n in $(seq ${PRESSURE.tasks}); do node dist/main.cjs kanban create "Try the board $n" --assignee default; done`;
    const made = await cell.run(create);
    const daemon = cell.run(
      `node dist/main.cjs kanban daemon & daemon=$!; until [ -e ../stop ]; do sleep 1; done; kill $daemon; wait $daemon`,
    );
    const why = made.exitCode === 0 ? await waitForDone(cell, PRESSURE.tasks) : made.output;
    await cell.run("touch ../stop");
    const stopped = await daemon;
    const runs = await cell.run("node dist/main.cjs kanban stats --json");
    const shots = [...ends].map(([end, count]) => `${count} ${end}`).join(", ");
    process.stdout.write(
      `${cell.node}: one-shots: ${shots}; tasks: ${why === "" ? `${PRESSURE.tasks} done` : why}\n`,
    );
    process.stdout.write(`${runs.stdout}\ndaemon: exit code ${stopped.exitCode}\n${stopped.output}\n`);
    if (why !== "" || ends.get("ok") !== PRESSURE.oneShots) return 1;
  }
  return 0;
}

function openCell(work: string, wanted: string, user: User): Cell {
  const { bin, version } = fetchNode(work, wanted);
  const folder = join(work, `${version} ${user}`, FOLDER);
  const [root, home, temporary] = ["hermes", "home", "tmp"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [root, home, temporary]) mkdirSync(path, { recursive: true });
  // With its own repository, because tests list the files with git.
  shell(
    `git ls-files -zco --exclude-standard | xargs -0 cp --parents -t "$0" 2>/dev/null; cd "$0" && git init -q && git add -A`,
    [root],
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot && user === "plain") giveToNobody(join(work, `${version} ${user}`));
  const as =
    isRoot && user === "plain" ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
  const tools =
    Number(version.split(".")[0]) < FIRST_WITHOUT_COMPILER ? process.env["PATH"] : withoutCompilers(work);
  const fixed = {
    PATH: [bin, tools].join(delimiter),
    HOME: home,
    TMPDIR: temporary,
    LANG: "C.UTF-8",
    npm_config_nodedir: dirname(bin), // its headers, so that compiling needs no download
    npm_config_cache: join(folder, "npm-cache"),
    ...registry(),
  };
  return {
    node: version,
    user,
    run(script) {
      const [program = "sh", ...args] = [...as, "sh", "-c", script];
      const child = spawn(program, args, {
        cwd: root,
        env: fixed,
        stdio: ["ignore", "pipe", "pipe"],
        detached: true, // its own process group, so that a hanging step can be ended with all its processes
      });
      const limit = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), STEP_LIMIT_MS);
      let [stdout, output] = ["", ""];
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
        output += text;
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
      return new Promise((resolve, reject) => {
        child.once("error", reject);
        child.once("close", (exitCode) => {
          clearTimeout(limit);
          resolve({ exitCode, stdout, output });
        });
      });
    },
    [Symbol.dispose]: () =>
      rmSync(join(work, `${version} ${user}`), { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Fetches a Node once per machine. A version without a minor number means the latest release of that major version. */
function fetchNode(work: string, wanted: string): { bin: string; version: string } {
  const name = `node-${process.platform}-${process.arch}`;
  const cache = join(
    process.env["XDG_CACHE_HOME"] || join(process.env["HOME"] ?? tmpdir(), ".cache"),
    "hermes-test/nodes",
  );
  const all = JSON.parse(shell(`npm view "$0" versions --json`, [name])) as string[];
  const version = all.filter((one) => one === wanted || one.startsWith(`${wanted}.`)).at(-1);
  if (version === undefined) throw new Error(`the registry has no ${name}@${wanted}`);
  const folder = join(cache, `${name}-${version}`);
  if (!existsSync(join(folder, "bin/node"))) {
    process.stderr.write(`matrix: fetching Node ${version}…\n`);
    mkdirSync(cache, { recursive: true });
    const fetching = mkdtempSync(join(cache, ".fetching-"));
    shell(
      `npm pack --silent --pack-destination "$0" "$1" && tar xzf "$0"/*.tgz -C "$0" && mv "$0/package" "$2"`,
      [fetching, `${name}@${version}`, folder],
    );
    rmSync(fetching, { recursive: true, force: true });
  }
  const here = join(work, `node-${version}`); // readable by every user
  if (!existsSync(here)) shell(`cp -al "$0" "$1" 2>/dev/null || cp -a "$0" "$1"`, [folder, here]);
  return { bin: join(here, "bin"), version };
}

/** Creates a folder with links to every program on the PATH except compilers and Node. */
function withoutCompilers(work: string): string {
  const folder = join(work, "programs");
  if (existsSync(folder)) return folder;
  mkdirSync(folder);
  for (const source of (process.env["PATH"] ?? "").split(delimiter).filter((path) => existsSync(path))) {
    for (const name of readdirSync(source)) {
      if (COMPILERS.test(name) || name === "node" || existsSync(join(folder, name))) continue;
      try {
        accessSync(join(source, name), constants.X_OK);
        symlinkSync(join(source, name), join(folder, name));
      } catch {
        // a dangling link
      }
    }
  }
  return folder;
}

/** The variables with the registry and the proxies of this machine. */
function registry(): Record<string, string> {
  const proxies = Object.entries(process.env).filter(([name]) =>
    /^((https?|no)_proxy|npm_config_registry|NODE_EXTRA_CA_CERTS)$/i.test(name),
  );
  const used = shell("npm config get registry", []).trim();
  return { npm_config_registry: used, ...(Object.fromEntries(proxies) as Record<string, string>) };
}

function giveToNobody(path: string): void {
  lchownSync(path, NOBODY, NOBODY);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) giveToNobody(join(path, entry.name));
    else lchownSync(join(path, entry.name), NOBODY, NOBODY);
  }
}

function shell(script: string, args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync("sh", ["-c", script, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${script}: ${stderr}`);
  return stdout;
}
