import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  access,
  appendFile,
  chmod,
  copyFile,
  mkdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SQLITE_PACKAGE } from "../../src/lib/sqlite/sqlite.ts";
import { scale } from "../support/scale.ts";
import { tempFolder } from "../support/temp-folder.ts";

const isRoot = process.getuid?.() === 0;
const CHECKOUT = resolve(import.meta.dirname, "../..");
const SQLITE = `node_modules/${SQLITE_PACKAGE}`;

/** The files that the launcher and the install read. */
const INSTALLED =
  "hermes package.json package-lock.json scripts src/main.ts src/lib/sqlite dashboard/index.html";
/** The files that the build reads, too. */
const BUILT = `${INSTALLED} tsconfig.json src ':!*.test.ts'`;

/** A copy of this checkout like a fresh clone, without a build and dependencies. */
async function freshClone(files = INSTALLED) {
  const clone = await emptyClone();
  shell(
    `git ls-files -zco --exclude-standard ${files} | xargs -0 cp --parents -t "${clone.root}" 2>/dev/null; true`,
    CHECKOUT,
  );
  return clone;
}

/** A fresh clone that can be built. The build omits the pages, and compiles only one kind of command. */
async function buildableClone() {
  const clone = await freshClone(BUILT);
  const [build, pages] = ["build.mjs", "build-dashboard.mjs"].map((name) =>
    join(clone.root, "scripts", name),
  );
  const script = await readFile(build ?? "", "utf8");
  expect(script).toContain(KINDS);
  await writeFile(build ?? "", script.replace(KINDS, '["task"]'));
  await writeFile(pages ?? "", "export const buildDashboard = () => undefined;\n");
  return clone;
}

const KINDS = '["sandbox", "kanban", "task", "chat"]';

/** Copies a clone with its installed and built files. */
async function copyOf({ root }: { readonly root: string }) {
  const clone = await emptyClone();
  shell(
    `for name in * .[!.]*; do
  case $name in node_modules) cp -al "$name" "${clone.root}" ;; *) cp -a "$name" "${clone.root}" ;; esac || exit
done`,
    root,
  );
  return clone;
}

async function emptyClone() {
  const folder = await tempFolder();
  const root = folder.file("clone");
  await mkdir(root);
  return {
    root,
    folder: folder.path,
    /** Puts a fake npm first on the PATH that installs by linking to our own packages and counts its calls. */
    async withQuickNpm(before = "") {
      const bin = folder.file("bin");
      await mkdir(bin);
      const script = `#!/bin/sh
echo "$1" >> "${folder.file("npm-calls")}"
${before}
if [ "$1" = run ]; then
  cp -Rf "${CHECKOUT}/${SQLITE}/." .
else
  rm -rf node_modules
  mkdir node_modules
  ln -s "${CHECKOUT}"/node_modules/* "${CHECKOUT}/node_modules/.bin" node_modules
  rm ${SQLITE}
  cp -al "${CHECKOUT}/${SQLITE}" ${SQLITE}
fi
`;
      await writeFile(join(bin, "npm"), script);
      await chmod(join(bin, "npm"), 0o755);
      return { PATH: `${bin}:${process.env["PATH"]}` };
    },
    npmCalls: async () => (await readFile(folder.file("npm-calls"), "utf8")).trim().split("\n"),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function shell(script: string, cwd: string): string {
  const { stdout, status, stderr } = spawnSync("sh", ["-c", script], { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

async function launch(path: string, args: readonly string[], env: Record<string, string>, cwd = "/") {
  const child = spawn(path, args, { cwd, env: { PATH: process.env["PATH"], HOME: dirname(path), ...env } });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  const [exitCode] = (await once(child, "close")) as [number | null];
  return { exitCode, ...output };
}

/** Installs as the next use would, without the build. */
async function expectInstalled(root: string, env: Record<string, string>): Promise<void> {
  expect(await launch("/bin/sh", [join(root, "scripts/setup.sh")], env)).toMatchObject({ exitCode: 0 });
  expect(await exists(join(root, "node_modules/half"))).toBe(false);
  expect(await exists(join(root, "node_modules/.bin/vitest"))).toBe(true);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 300_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("waited in vain");
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

describe("the launcher", () => {
  // Built by the first test; the others copy it, because each build occupies two cores for seconds.
  let built: Awaited<ReturnType<typeof buildableClone>>;
  let firstUses: Awaited<ReturnType<typeof launch>>[];
  beforeAll(async () => {
    built = await buildableClone();
    const env = await built.withQuickNpm();
    firstUses = await Promise.all(
      Array.from({ length: scale.processes }, () => launch(join(built.root, "hermes"), ["--version"], env)),
    );
  });
  afterAll(() => built[Symbol.asyncDispose]());

  test("many concurrent first uses install once and build once, and all of them answer", async () => {
    const runs = firstUses;
    expect(runs.map((run) => run.exitCode)).toEqual(runs.map(() => 0));
    expect(new Set(runs.map((run) => run.stdout))).toEqual(new Set([runs[0]?.stdout]));
    expect(runs[0]?.stdout).toMatch(/^hermes \d/);
    expect(await built.npmCalls()).toEqual(["ci"]);
    expect(runs.filter((run) => run.stderr.includes("building"))).toHaveLength(1);
  });

  test("an interrupted install leaves nothing incomplete, and the next use works", async () => {
    await using clone = await freshClone();
    const hanging = await clone.withQuickNpm(
      `[ -e "${clone.folder}/go" ] || { mkdir node_modules; touch node_modules/half; exec sleep 600; }`,
    );
    const child = spawn(join(clone.root, "hermes"), ["--version"], {
      detached: true, // its own process group, as on a terminal
      env: { ...hanging, HOME: clone.folder },
    });
    const ended = once(child, "close");
    await until(() => exists(join(clone.root, "node_modules/half")));
    process.kill(-(child.pid ?? 0), "SIGINT");
    expect((await ended)[0]).toBe(130);
    expect(await exists(join(clone.root, "node_modules"))).toBe(false);
    expect(await exists(join(clone.root, "dist"))).toBe(false);
    await writeFile(join(clone.folder, "go"), "");
    await expectInstalled(clone.root, hanging);
  });

  test("after an install was killed, the next use starts again", async () => {
    await using clone = await freshClone();
    const hanging = await clone.withQuickNpm(
      `[ -e "${clone.folder}/go" ] || { mkdir node_modules; touch node_modules/half; exec sleep 600; }`,
    );
    const child = spawn(join(clone.root, "hermes"), ["--version"], {
      detached: true,
      env: { ...hanging, HOME: clone.folder },
    });
    const ended = once(child, "close");
    await until(() => exists(join(clone.root, "node_modules/half")));
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await ended;
    await writeFile(join(clone.folder, "go"), "");
    await expectInstalled(clone.root, hanging);
  });

  test("builds again only if a source is newer, and installs again if the lock file changed", async () => {
    await using clone = await copyOf(built);
    const env = await clone.withQuickNpm();
    const run = () => launch(join(clone.root, "hermes"), ["--version"], env);
    expect(await run()).toMatchObject({ exitCode: 0, stderr: "" });
    // Only whether it builds matters here, so this build does nothing.
    await writeFile(join(clone.root, "scripts/build.mjs"), "");
    const entry = join(clone.root, "dist/main.cjs");
    const later = (seconds: number) => new Date(Date.now() + seconds * 1_000);
    await utimes(entry, later(1), later(1));
    expect(await run()).toMatchObject({ exitCode: 0, stderr: "" });
    await utimes(join(clone.root, "src/main.ts"), later(2), later(2));
    expect(await run()).toMatchObject({ exitCode: 0, stderr: "hermes: building…\n" });
    await utimes(entry, later(3), later(3));
    await appendFile(join(clone.root, "package-lock.json"), "\n");
    await utimes(join(clone.root, "package-lock.json"), later(4), later(4));
    expect((await run()).stderr).toMatch(/installing dependencies(.|\n)*building/);
    expect(await clone.npmCalls()).toEqual(["ci"]);
  });

  test("a Node other than the one that built gets its native module and its compiled program, once", async () => {
    await using clone = await copyOf(built);
    const env = await clone.withQuickNpm();
    const run = (PATH: string) =>
      launch(join(clone.root, "hermes"), ["config", "get", "model.provider"], { PATH });
    expect(await run(env.PATH)).toMatchObject({ exitCode: 0, stderr: "" });
    // A copy of the binary counts as another Node, because compiled code is tied to one binary.
    const other = `${join(clone.folder, "other")}:${env.PATH}`;
    await mkdir(join(clone.folder, "other"));
    await copyFile(process.execPath, join(clone.folder, "other/node"));
    for (const folder of ["build", "prebuilds"]) {
      await rm(join(clone.root, SQLITE, folder), { recursive: true, force: true });
    }
    const adapted = await run(other);
    expect(adapted).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/SQLite(.|\n)*compiling for/),
    });
    expect(adapted.stderr).not.toContain("building");
    expect(await clone.npmCalls()).toEqual(["run"]);
    const quiet = { exitCode: 0, stdout: adapted.stdout, stderr: "" };
    expect(await run(other)).toMatchObject(quiet);
    expect(await run(env.PATH)).toMatchObject(quiet); // both can use the same checkout
  });

  test("if SQLite cannot be compiled, the error names the missing compilers and a way without them", async () => {
    await using clone = await freshClone();
    await clone.withQuickNpm(`[ "$1" = run ] && { echo 'gyp ERR! not found: make' >&2; exit 1; }`);
    const bin = join(clone.folder, "without-compilers");
    await mkdir(bin);
    for (const name of [
      "sh",
      "node",
      "cp",
      "rm",
      "mv",
      "cat",
      "cmp",
      "find",
      "tail",
      "dirname",
      "ln",
      "mkdir",
      "flock",
      "mktemp",
    ]) {
      await symlink(shell(`command -v ${name}`, "/").trim(), join(bin, name));
    }
    await writeFile(
      join(clone.folder, "bin/npm"),
      `${await readFile(join(clone.folder, "bin/npm"), "utf8")}\nrm -rf ${SQLITE}/build ${SQLITE}/prebuilds\n`,
    );
    const run = await launch(join(clone.root, "hermes"), ["--version"], {
      PATH: `${join(clone.folder, "bin")}:${bin}`,
    });
    expect(run).toMatchObject({ exitCode: 1, stdout: "" });
    expect(run.stderr).toContain("not found: make");
    expect(run.stderr).toMatch(/these are missing: make g\+\+ python3\.\n.*Install Node\.js 22\.14 or newer/);
  });

  test("a checkout of another user is used as it is, or refused with a clear error", async ({ skip }) => {
    await using clone = await copyOf(built);
    const user = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : ["env"];
    const [program = "", ...words] = [...user, join(clone.root, "hermes"), "config", "get", "model.provider"];
    if (spawnSync(program, [...words.slice(0, -4), "true"]).status !== 0)
      skip("running as root, and unable to run as another user");
    const env = await clone.withQuickNpm();
    shell("rm dist/.node-* && chmod 755 .. . && chmod a-w .", clone.root);
    expect(await launch(program, words, env)).toMatchObject({ exitCode: 0, stdout: "auto\n", stderr: "" });
    shell("chmod u+w . && rm -r dist && chmod a-w .", clone.root);
    const refused = await launch(program, words, env);
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /^hermes: .+ has not been built for Node\.js v.+, and you may not write there\.\n/,
    );
    shell("chmod u+w .", clone.root); // so that it can be removed
  });

  test("a failed install prints the reason and what to do, and does not count as installed", async () => {
    await using clone = await freshClone();
    const env = await clone.withQuickNpm("echo 'npm error network unreachable' >&2; exit 1");
    const run = await launch(join(clone.root, "hermes"), ["--version"], env);
    expect(run).toMatchObject({ exitCode: 1, stdout: "" });
    expect(run.stderr).toContain("network unreachable");
    expect(run.stderr).toContain("then run this again");
    expect(run.stderr).not.toContain("compile"); // a different cause
  });

  test("works through a chain of links from any folder and passes on arguments and exit codes", async () => {
    await using folder = await tempFolder();
    await symlink(join(CHECKOUT, "hermes"), folder.file("first"));
    await symlink("first", folder.file("hermes"));
    const odd = await launch(
      folder.file("hermes"),
      ["config", "get", "a b\nc*"],
      { HERMES_HOME: folder.file("home") },
      folder.path,
    );
    expect(odd.exitCode).toBe(78);
    expect(odd.stderr).toContain("There is no setting a b\nc*.");
    expect(await launch(folder.file("hermes"), ["confg"], {}, "/")).toMatchObject({ exitCode: 2 });
  });

  test("a Node that is too old is refused with the required version", async () => {
    await using clone = await freshClone();
    const env = await clone.withQuickNpm();
    const fake = join(clone.folder, "bin/node");
    await writeFile(fake, '#!/bin/sh\n[ "$1" = --version ] && echo v18.0.0\nexit 1\n');
    await chmod(fake, 0o755);
    const run = await launch(join(clone.root, "hermes"), ["--version"], env);
    expect(run.exitCode).toBe(1);
    expect(run.stderr).toContain(
      "does not run on Node.js v18.0.0. Install version 22.14 or newer (or 20.19)",
    );
  });
});
