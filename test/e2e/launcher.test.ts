import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  access,
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { SQLITE_PACKAGE } from "../../src/lib/sqlite.ts";
import { tempFolder } from "../support/temp-folder.ts";

const isRoot = process.getuid?.() === 0;
const CHECKOUT = resolve(import.meta.dirname, "../..");
const SQLITE = `node_modules/${SQLITE_PACKAGE}`;

/** A copy of this checkout as a fresh clone would be: no build and no dependencies. */
async function freshClone() {
  const folder = await tempFolder();
  const root = folder.file("clone");
  await mkdir(root);
  shell(
    `git ls-files -zco --exclude-standard | xargs -0 cp --parents -t "${root}" 2>/dev/null; true`,
    CHECKOUT,
  );
  return {
    root,
    folder: folder.path,
    /** Puts an npm first on the PATH that installs by linking our own node_modules, and counts how often it is asked. */
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
  cp -al "${CHECKOUT}/node_modules" node_modules
  rm -f node_modules/.hermes-*
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

/** What the next use does first; to build would only take longer. */
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
  test("sixteen first uses at once install once and build once, and all of them answer", async () => {
    await using clone = await freshClone();
    const env = await clone.withQuickNpm();
    const runs = await Promise.all(
      Array.from({ length: 16 }, () => launch(join(clone.root, "hermes"), ["--version"], env)),
    );
    expect(runs.map((run) => run.exitCode)).toEqual(runs.map(() => 0));
    expect(new Set(runs.map((run) => run.stdout))).toEqual(new Set([runs[0]?.stdout]));
    expect(runs[0]?.stdout).toMatch(/^hermes \d/);
    expect(await clone.npmCalls()).toEqual(["ci"]);
    expect(runs.filter((run) => run.stderr.includes("building"))).toHaveLength(1);
  }, 600_000);

  test("interrupted in the middle of the install it leaves nothing half-built, and the next use works", async () => {
    await using clone = await freshClone();
    const hanging = await clone.withQuickNpm(
      `[ -e "${clone.folder}/go" ] || { mkdir node_modules; touch node_modules/half; exec sleep 600; }`,
    );
    const child = spawn(join(clone.root, "hermes"), ["--version"], {
      detached: true, // a process group of its own, as a terminal gives it
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
  }, 600_000);

  test("killed for good in the middle of the install, the next use starts over", async () => {
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
  }, 600_000);

  test("builds again when a source is newer, not otherwise, and installs again when the lock file changed", async () => {
    await using clone = await freshClone();
    const env = await clone.withQuickNpm();
    const run = () => launch(join(clone.root, "hermes"), ["--version"], env);
    await run();
    expect((await run()).stderr).toBe("");
    const soon = new Date(Date.now() + 1_000);
    await utimes(join(clone.root, "src/main.ts"), soon, soon);
    expect((await run()).stderr).toContain("building");
    await writeFile(
      join(clone.root, "package-lock.json"),
      `${await readFile(join(clone.root, "package-lock.json"), "utf8")}\n`,
    );
    await run();
    expect(await clone.npmCalls()).toEqual(["ci", "ci"]);
  }, 600_000);

  test("another Node than the one that built gets its native module and its compiled program, once", async () => {
    await using clone = await freshClone();
    const env = await clone.withQuickNpm();
    const run = (PATH: string) =>
      launch(join(clone.root, "hermes"), ["config", "get", "model.provider"], { PATH });
    await run(env.PATH);
    // A copy of the binary is another Node: nobody knows whether it can use what was compiled for the first one.
    const other = `${join(clone.folder, "other")}:${env.PATH}`;
    await mkdir(join(clone.folder, "other"));
    await copyFile(process.execPath, join(clone.folder, "other/node"));
    for (const folder of ["build", "prebuilds"]) {
      await rm(join(clone.root, SQLITE, folder), { recursive: true, force: true });
    }
    const adapted = await run(other);
    expect(adapted).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/SQLite(.|\n)*building/) });
    expect(await clone.npmCalls()).toEqual(["ci", "run"]);
    const quiet = { exitCode: 0, stdout: adapted.stdout, stderr: "" };
    expect(await run(other)).toMatchObject(quiet);
    expect(await run(env.PATH)).toMatchObject(quiet); // both can use the same checkout
  }, 600_000);

  test("where SQLite cannot be compiled, the missing compilers are named, and the way without them", async () => {
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
  }, 600_000);

  test("a checkout of somebody else is used as it is, or its state is told in words", async ({ skip }) => {
    await using clone = await freshClone();
    const env = await clone.withQuickNpm();
    const user = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : ["env"];
    const [program = "", ...words] = [...user, join(clone.root, "hermes"), "config", "get", "model.provider"];
    shell(`chmod 755 .. . && chmod a-w .`, clone.root);
    if (spawnSync(program, [...words.slice(0, -4), "true"]).status !== 0)
      skip("root here, and unable to be another user");
    const refused = await launch(program, words, env);
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /^hermes: .+ has not been built for Node\.js v.+, and you may not write there\.\n/,
    );
    shell("chmod u+w .", clone.root);
    await launch(join(clone.root, "hermes"), ["status"], env);
    await rm(
      join(
        clone.root,
        "dist",
        (await readdir(join(clone.root, "dist"))).find((name) => name.startsWith(".node-")) ?? "",
      ),
    );
    shell("chmod a-w .", clone.root);
    expect(await launch(program, words, env)).toMatchObject({ exitCode: 0, stdout: "auto\n", stderr: "" });
    shell("chmod u+w .", clone.root); // so that it can be removed
  }, 600_000);

  test("a failed install says why, names what to do, and does not look installed", async () => {
    await using clone = await freshClone();
    const env = await clone.withQuickNpm("echo 'npm error network unreachable' >&2; exit 1");
    const run = await launch(join(clone.root, "hermes"), ["--version"], env);
    expect(run).toMatchObject({ exitCode: 1, stdout: "" });
    expect(run.stderr).toContain("network unreachable");
    expect(run.stderr).toContain("Then run this again");
    expect(run.stderr).not.toContain("compile"); // that would be another reason
  });

  test("works through a chain of links from any directory and hands arguments and exit codes on", async () => {
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

  test("a Node that is too old is named with the version that is needed", async () => {
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
