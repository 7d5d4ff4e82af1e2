import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { boardPath } from "../../src/board/board-slug.ts";
import { loadSqlite } from "../../src/lib/sqlite.ts";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

const isRoot = process.getuid?.() === 0;

describe("the command line", () => {
  test("prints its version, also behind global flags", async () => {
    await using home = await tempHome();
    for (const args of [["--version"], ["-V"], ["--terminal.timeout", "5", "--version"]]) {
      expect(await home.hermes(args)).toMatchObject({
        exitCode: 0,
        stdout: `hermes ${manifest.version}\n`,
        stderr: "",
      });
    }
  });

  test("helps: every command has a page with examples, within 80 columns", async () => {
    await using home = await tempHome();
    const page = (await home.hermes(["--help"])).stdout;
    const commands = [...page.matchAll(/^ {2}([a-z-]+) {2,}[A-Z]/gm)].map((match) => match[1] ?? "");
    expect(commands).toContain("config");
    for (const word of ["help", "version"])
      expect(await home.hermes(["help", word])).toMatchObject({ exitCode: 0, stdout: page });
    const pages: string[][] = commands.map((command) => [command]);
    for (const command of ["config", "profile", "sandbox", "sessions"]) {
      const { stdout } = await home.hermes([command, "--help"]);
      const verbs = [...stdout.matchAll(/^ {2}([a-z-]+)(?: [<[].*?)? {2,}[A-Z]/gm)];
      pages.push(...verbs.map((match) => [command, match[1] ?? ""]));
    }
    expect(pages.length).toBeGreaterThan(40);
    for (const words of pages) {
      const help = await home.hermes([...words, "--help"]);
      expect(help.exitCode).toBe(0);
      expect(help.stdout).toContain("Examples:");
      for (const line of help.stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(82);
      // One default an option, also where its words go on in the next line.
      for (const option of help.stdout.split(/\n(?= {0,4}\S)/))
        expect(option.match(/\(default/g)?.length ?? 0, option).toBeLessThan(2);
    }
  });

  const mistakes: [string[], RegExp][] = [
    [["confg"], /unknown command 'confg'\n {2}Did you mean `hermes config`\?/],
    [["config", "gett", "x"], /unknown command 'gett'.*get/s],
    [["help", "kanban", "lst"], /unknown command 'lst'\n {2}Did you mean `hermes kanban list`\?/],
    [
      ["help", "kanban", "boards", "nosuch"],
      /unknown command 'nosuch'\n {2}See `hermes kanban boards --help`/,
    ],
    [["help", "doctor", "nosuch"], /unknown command 'nosuch'/],
    [["sessions", "nosuch", "--help"], /unknown command 'nosuch'\n {2}See `hermes sessions --help`/],
    [["config", "get", "--jsn", "terminal.timeout"], /unknown option '--jsn'.*--json/s],
    [
      ["--terminal.timout=5", "status"],
      /unknown option --terminal\.timout\n {2}Did you mean --terminal\.timeout\?/,
    ],
    [
      ["--providers.openai-api.base_url", "http://x", "status"],
      /providers stands in config\.yaml\n {2}Set it with `hermes config set providers\.openai-api\.base_url VALUE`\./,
    ],
    [["config", "get"], /missing required argument.*\n {2}See `hermes config get --help`\./],
    [["-p"], /-p needs a value/],
    [["--wat"], /unknown option '--wat'/],
    [["config"], /^Usage: hermes config[\s\S]*explain/],
  ];
  test.each(mistakes)("wrong usage %j exits 2 with advice and an empty stdout", async (args, expected) => {
    await using home = await tempHome();
    const run = await home.hermes(args);
    expect(run).toMatchObject({ exitCode: 2, stdout: "" });
    expect(run.stderr).toMatch(expected);
  });

  test("says so when the folder that it is called in has been removed", () => {
    const words = `"${process.execPath}" "${resolve("dist/main.cjs")}" prompt-size`;
    const script = `cd "$(mktemp -d)" && rmdir "$PWD" && ${words}`;
    const { status, stderr } = spawnSync("sh", ["-c", script], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^hermes: The folder that you are in has been removed\.\n {2}Change/),
    });
  });

  test("with --json errors are JSON on stderr and stdout stays pure", async () => {
    await using home = await tempHome();
    const run = await home.hermes(["config", "get", "nope.nope", "--json"]);
    expect(run.stdout).toBe("");
    expect(JSON.parse(run.stderr)).toMatchObject({
      error: { code: "config-key-unknown", hint: expect.any(String) },
    });
  });

  test("a reader that leaves early ends the command with 141, as SIGPIPE would, and without a word", async () => {
    await using home = await tempHome();
    const { child, ended } = home.start(["config", "keys", "--json"]);
    child.stdout.destroy();
    expect(await ended).toMatchObject({ exitCode: 141, stderr: "" });
  });

  test("a reader of notices that leaves early ends nothing", async () => {
    await using home = await tempHome();
    await mkdir(home.path, { recursive: true });
    await writeFile(join(home.path, "config.yaml"), "unknown: 1\n");
    const { child, ended } = home.start(["config", "show", "--json"]);
    child.stderr.destroy();
    const run = await ended;
    expect(run.exitCode).toBe(0);
    expect(run.json<unknown[]>().length).toBeGreaterThan(0);
  });

  test("colours appear on a terminal only, and never with NO_COLOR", () => {
    const onTerminal = (prefix: string) =>
      spawnSync("script", ["-qec", `${prefix} ${process.execPath} dist/main.cjs --help`, "/dev/null"], {
        encoding: "utf8",
      }).stdout;
    expect(onTerminal("env -u NO_COLOR TERM=xterm")).toContain("\u001b[1m");
    expect(onTerminal("env NO_COLOR=1 TERM=xterm")).not.toContain("\u001b[");
  });
});

describe("doctor", () => {
  test("boards are compared with what they must be, and repair names the same", async () => {
    await using home = await tempHome();
    const board = async () => {
      const run = await home.hermes(["doctor", "--json"]);
      return run.json<{ checks: { name: string }[] }>().checks.filter(({ name }) => name === "boards");
    };
    expect(await board()).toMatchObject([{ status: "ok", detail: "none yet" }]);
    await home.hermes(["kanban", "create", "a task"]);
    expect(await board()).toMatchObject([{ status: "ok", detail: "sound: default" }]);
    const Sqlite = await loadSqlite();
    const path = boardPath(home.path, "default");
    new Sqlite(path).exec("drop index task_by_key").close();
    const missing = '"task_by_key" is missing';
    expect(await board()).toMatchObject([
      { status: "fail", detail: `default: ${missing}`, fix: "hermes kanban --board default repair" },
    ]);
    const repair = await home.hermes(["kanban", "repair"]);
    expect(repair).toMatchObject({ exitCode: 1, stdout: `${missing}\n` });
    new Sqlite(path).exec("pragma user_version = 99").close();
    expect(await board()).toMatchObject([
      { status: "fail", detail: expect.stringContaining("has schema version 99; this program knows only") },
    ]);
  });

  test("a home that cannot be made is found out, although there is nothing yet to look at", async () => {
    await using home = await tempHome();
    const homeOf = async (path: string) => {
      const run = await home.hermes(["doctor", "--json"], { env: { HERMES_HOME: path } });
      return run.json<{ checks: { name: string }[] }>().checks.find(({ name }) => name === "home");
    };
    expect(await homeOf("/sys/hermes/home")).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("no folder can be made in /sys"),
    });
    expect(await homeOf(join(home.folder, "new/home"))).toMatchObject({ status: "ok" });
    expect(await readdir(home.folder)).toEqual([]);
  });

  test("reports each part with a status and says what to do about findings", async () => {
    await using home = await tempHome();
    const run = await home.hermes(["doctor", "--json"], { env: { ANTHROPIC_API_KEY: "sk-ant-test" } });
    const { ok, checks } = run.json<{
      ok: boolean;
      checks: { name: string; status: string; fix: string }[];
    }>();
    expect(ok).toBe(true);
    expect(checks.map((check) => check.name)).toEqual([
      "node",
      "sqlite",
      "home",
      "config",
      "model",
      "disk",
      "sessions",
      "boards",
      "workers",
      "docker",
      "podman",
      "apptainer",
      "ssh",
    ]);
    for (const check of checks) if (check.status !== "ok") expect(check.fix, check.name).not.toBe("");
  });

  test("fails on what the chosen backend needs and on secrets that others can read", async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    await writeFile(join(home.path, ".env"), "A=1\n");
    await chmod(home.path, 0o755); // whatever the umask is
    await chmod(join(home.path, ".env"), 0o644);
    const env = { TERMINAL_ENV: "docker", HERMES_DOCKER_BINARY: "/nowhere/docker" };
    const run = await home.hermes(["doctor", "--json"], { env });
    expect(run.exitCode).toBe(1);
    const { checks } = run.json<{
      checks: { name: string; status: string; detail: string; fix: string }[];
    }>();
    expect(checks.find((check) => check.name === "docker")).toMatchObject({
      status: "fail",
      detail: "not found",
    });
    expect(checks.find((check) => check.name === "secrets")).toMatchObject({
      status: "fail",
      fix: expect.stringContaining("chmod 600"),
    });
    expect(checks.find((check) => check.name === "home")).toMatchObject({ status: "warn" });
  });

  test("says the same about the model as a task would find, and proves the key when it is asked to", async () => {
    await using home = await tempHome();
    const line = async (args: string[], env = {}) => {
      const { stdout } = await home.hermes(args, { env });
      return stdout.split("\n").find((text) => /^(?:(?:ok|FAIL) +)?model /.test(text)) ?? "";
    };
    expect(await line(["doctor"])).toContain("No model provider is set up.");
    expect(await line(["status"])).toContain("No model provider is set up.");
    const key = { ANTHROPIC_API_KEY: "sk-ant-test" };
    expect(await line(["status"], key)).toMatch(/claude-\S+ \(anthropic, key from ANTHROPIC_API_KEY\)/);
    expect(await line(["doctor"], key)).toMatch(/^ok .*key from ANTHROPIC_API_KEY$/);
    const misbehave = (request: number) =>
      request >= 1 ? ({ type: "answer", status: 401, body: "{}" } as const) : undefined;
    await using server = await startScriptedServer({ answers: [{ text: "ok" }] }, { misbehave });
    const custom = {
      HERMES_MODEL_BASE_URL: `${server.url}/v1`,
      HERMES_MODEL_DEFAULT: "m",
      OPENAI_API_KEY: "k",
    };
    expect(await line(["doctor", "--online"], custom)).toMatch(/^ok .*; it answers$/);
    expect(await line(["doctor", "--online"], custom)).toMatch(/^FAIL .*did not accept the key/);
    const keyless = await line(["doctor", "--online"], { ...custom, OPENAI_API_KEY: "" });
    expect(keyless).toMatch(/^FAIL .*did not accept the request, which had no key \(401\)/);
    expect(server.requests).toHaveLength(3);
  });

  test("numbers what is to be done, and --fix does what is safe; a task closes its secrets by itself", async () => {
    await using home = await tempHome();
    const secrets = join(home.path, ".env");
    await mkdir(home.path);
    await writeFile(secrets, "A=1\n");
    await chmod(home.path, 0o755); // whatever the umask
    await chmod(secrets, 0o644);
    const first = await home.hermes(["doctor"]);
    expect(first.stdout).toMatch(/What to do\n {2}1\. home: chmod 700 .*\n {2}2\. secrets: chmod 600 /);
    const fixed = await home.hermes(["doctor", "--fix"]);
    expect(fixed.stderr).toContain(`done: chmod 600 ${secrets}`);
    expect(fixed.stdout).not.toContain("chmod");
    await chmod(secrets, 0o640);
    expect((await home.hermes(["kanban", "list"])).stderr).toContain("from now on only you can");
    expect((await stat(secrets)).mode & 0o777).toBe(0o600);
    expect((await home.hermes(["kanban", "list"])).stderr).toBe("");
  });

  test("reports every problem of the settings instead of stopping at it", async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    await writeFile(
      join(home.path, "config.yaml"),
      "terminal:\n  timeout: soon\n  docker_network: perhaps\n",
    );
    const { checks } = (await home.hermes(["doctor", "--json"])).json<{
      checks: { name: string; status: string }[];
    }>();
    expect(checks.filter((check) => check.name === "config").map((check) => check.status)).toEqual([
      "fail",
      "warn",
    ]);
  });
});

test.each(["", "some/folder"])(
  "HOME=%j is passed over: no home is made in the current folder",
  async (HOME) => {
    await using home = await tempHome();
    const run = await home.hermes(["status", "--json"], { env: { HOME, HERMES_HOME: "" }, cwd: home.folder });
    expect(run.json()).toMatchObject({ home: join(userInfo().homedir, ".hermes") });
  },
);

describe("a home that cannot be used", () => {
  test("is a file", async () => {
    await using home = await tempHome();
    await writeFile(home.path, "not a folder");
    const run = await home.hermes(["config", "set", "terminal.timeout", "5"]);
    expect(run.exitCode).toBe(1);
    expect(run.stderr).toContain(`${home.path} is a file`);
  });

  test.skipIf(!isRoot)("belongs to another user (needs root to set up)", async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    const script = `"${process.execPath}" dist/main.cjs config set terminal.timeout 5`;
    await chmod(home.folder, 0o755);
    const run = spawnSync(
      "setpriv",
      ["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", script],
      {
        encoding: "utf8",
        env: { PATH: process.env["PATH"], HERMES_HOME: home.path, HOME: home.folder },
      },
    );
    expect(run.status, run.stderr).toBe(1);
    expect(run.stderr).toContain("belongs to user 0, and you are user 65534");
  });

  test.skipIf(!isRoot)("is read-only, or on a full disk (needs root to mount one)", async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", home.path]);
    try {
      await writeFile(join(home.path, "config.yaml"), "terminal:\n  timeout: 5\n");
      const filled = spawnSync("sh", ["-c", `dd if=/dev/zero of=${home.path}/filler bs=4k 2>&1`]);
      expect(filled.stdout.toString()).toContain("No space left");
      const full = await home.hermes(["config", "set", "terminal.timeout", "6"]);
      expect(full.exitCode, full.stderr).toBe(1);
      expect(full.stderr).toMatch(/space/);
      spawnSync("mount", ["-o", "remount,ro", home.path]);
      const readOnly = await home.hermes(["config", "set", "terminal.timeout", "6"]);
      expect(readOnly.exitCode).toBe(1);
      expect(readOnly.stderr).toMatch(/read-only/i);
      expect((await home.hermes(["config", "get", "terminal.timeout"])).stdout).toBe("5\n");
    } finally {
      spawnSync("umount", [home.path]);
    }
  });
});

describe("logs", () => {
  test("show what was changed, filtered and as JSON, and never a secret", async () => {
    await using home = await tempHome();
    await home.hermes(["config", "set", "model.api_key"], { stdin: "sk-do-not-log-this\n" });
    await home.hermes(["config", "set", "terminal.timeout", "77"]);
    await home.hermes(["config", "set", "model.default", "sk-do-not-log-this"]);
    const all = await home.hermes(["logs"]);
    expect(all.stdout).toContain("setting set key=terminal.timeout value=77");
    expect(all.stdout).not.toContain("sk-do-not-log-this");
    const last = await home.hermes(["logs", "--json", "--lines", "2", "--since", "1h"]);
    const records = last.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records).toMatchObject([
      { level: "info", component: "cli", msg: "setting set", key: "terminal.timeout" },
      { level: "info", component: "cli", msg: "setting set", key: "model.default" },
    ]);
    expect((await home.hermes(["logs", "errors"])).stdout).toBe("");
    expect((await home.hermes(["logs", "--level", "warn"])).stdout).toBe("");
  });
});

describe("on a terminal", () => {
  /** Runs a command on a real terminal, types, and gives back the whole screen with the exit code. */
  async function typeInto(home: string, command: string, keys: string): Promise<string> {
    const shell = `HERMES_HOME="${home}" "${process.execPath}" dist/main.cjs ${command}; echo "code $?"`;
    const child = spawn("script", ["-qec", shell, "/dev/null"], { stdio: ["pipe", "pipe", "inherit"] });
    let screen = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (!screen.includes(": ") && (screen + text).includes(": ")) child.stdin.write(keys);
      screen += text;
    });
    await once(child, "close");
    return screen;
  }

  test("a secret is not shown while it is typed, and erasing works", async () => {
    await using home = await tempHome();
    const screen = await typeInto(home.path, "config set model.api_key", "sk-typed-hiddenX\u007f\r");
    expect(screen).not.toContain("sk-typed");
    expect(screen).toContain("code 0");
    expect(await readFile(join(home.path, ".env"), "utf8")).toBe("HERMES_MODEL_API_KEY=sk-typed-hidden\n");
  });

  test("Ctrl-C at a question is exit 130 and changes nothing", async () => {
    await using home = await tempHome();
    await home.hermes(["profile", "create", "work"]);
    const screen = await typeInto(home.path, "profile delete work", "\u0003");
    expect(screen).toContain("code 130");
    expect(screen).not.toContain("at ");
    expect((await home.hermes(["profile", "show", "work"])).exitCode).toBe(0);
    expect(await typeInto(home.path, "config set model.api_key", "abc\u0003")).toContain("code 130");
    expect(await typeInto(home.path, "profile delete work", "work\r")).toContain("code 0");
    expect((await home.hermes(["profile", "show", "work"])).exitCode).toBe(1);
  });
});
