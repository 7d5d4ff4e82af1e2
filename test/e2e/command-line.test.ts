import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { boardPath } from "../../src/board/board-slug.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";
import { ENTRY } from "../support/built-program.ts";
import { mayCreateCgroup } from "../support/cgroup.ts";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

const isRoot = process.getuid?.() === 0;

describe("the command line", () => {
  test("a boolean flag takes a following true or false as its value, and no other word", async () => {
    await using home = await tempHome();
    const value = async (...args: string[]) =>
      (await home.hermes([...args, "config", "get", "terminal.docker_network", "--json"])).json();
    for (const word of ["false", "0", "no", "off", "OFF"]) {
      expect(await value("--terminal.docker_network", word)).toMatchObject({ value: false });
    }
    expect(await value("--terminal.docker_network", "true")).toMatchObject({ value: true });
    expect(await value("--terminal.docker_network=off")).toMatchObject({ value: false });
    expect(await value("--terminal.docker_network")).toMatchObject({ value: true });
    const words = ["--terminal.docker_network", "false", "--", "echo", "false"];
    const ran = await home.hermes(["sandbox", "exec", ...words], { env: { TERMINAL_ENV: "local" } });
    expect(ran).toMatchObject({ exitCode: 0, stdout: "false\n" });
    expect((await home.hermes(["--help"])).stdout).toMatch(/without a value means true/);
    const explained = await home.hermes(["config", "explain", "terminal.docker_network"]);
    expect(explained.stdout).toContain("--terminal.docker_network [true|false]");
  });

  test("exec exits with 125, as its help says, if its output cannot be written", async () => {
    await using home = await tempHome();
    const env = {
      PATH: process.env["PATH"],
      HERMES_HOME: home.path,
      HOME: home.folder,
      TERMINAL_ENV: "local",
    };
    const script = '"$0" "$@" >/dev/full </dev/null';
    const words = ["-c", script, process.execPath, ENTRY, "sandbox", "exec", "--", "echo hi"];
    const { status, stderr } = spawnSync("sh", words, { env, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 125, stderr: expect.stringContaining("ENOSPC") });
  });

  test("the help of jobs says how short the prefix of an id may be", async () => {
    await using home = await tempHome();
    for (const words of [["jobs", "kill"], ["jobs", "log"], ["attach"]]) {
      expect((await home.hermes(["sandbox", ...words, "--help"])).stdout).toContain("at least 4 digits");
    }
    const short = await home.hermes(["sandbox", "jobs", "kill", "abc"], { env: { TERMINAL_ENV: "local" } });
    expect(short).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("at least 4 digits") });
  });

  test("prints its version, even after global flags", async () => {
    await using home = await tempHome();
    for (const args of [["--version"], ["-V"], ["--terminal.timeout", "5", "--version"]]) {
      expect(await home.hermes(args)).toMatchObject({
        exitCode: 0,
        stdout: `hermes ${manifest.version}\n`,
        stderr: "",
      });
    }
  });

  test("every command has a help page with examples, within 80 columns", async () => {
    await using home = await tempHome();
    const page = (await home.hermes(["--help"])).stdout;
    const commands = [...page.matchAll(/^ {2}([a-z-]+) {2,}[A-Z]/gm)].map((match) => match[1] ?? "");
    expect(commands).toContain("config");
    for (const word of ["help", "version"])
      expect(await home.hermes(["help", word])).toMatchObject({ exitCode: 0, stdout: page });
    const pages: string[][] = commands.map((command) => [command]);
    for (const line of page.split("\n")) expect(line.length, line).toBeLessThanOrEqual(82);
    for (const command of ["config", "gateway", "model", "pairing", "profile", "sandbox", "sessions"]) {
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
      // Each option shows one default, even if its description continues on the next line.
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
      /providers can only be set in config\.yaml\n {2}Set it with `hermes config set providers\.openai-api\.base_url VALUE`\./,
    ],
    [["config", "get"], /missing required argument.*\n {2}See `hermes config get --help`\./],
    [["-p"], /-p needs a value/],
    [["--wat"], /unknown option '--wat'/],
    [["config"], /^Usage: hermes config[\s\S]*explain/],
  ];
  test.each(mistakes)(
    "wrong usage %j exits with 2, with a hint and an empty stdout",
    async (args, expected) => {
      await using home = await tempHome();
      const run = await home.hermes(args);
      expect(run).toMatchObject({ exitCode: 2, stdout: "" });
      expect(run.stderr).toMatch(expected);
    },
  );

  test("reports that the working folder was removed", () => {
    const words = `"${process.execPath}" "${resolve("dist/main.cjs")}" prompt-size`;
    const script = `cd "$(mktemp -d)" && rmdir "$PWD" && ${words}`;
    const { status, stderr } = spawnSync("sh", ["-c", script], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^hermes: The folder that you are in has been removed\.\n {2}Change/),
    });
  });

  test("with --json errors are JSON on stderr, and stdout contains only results", async () => {
    await using home = await tempHome();
    const run = await home.hermes(["config", "get", "nope.nope", "--json"]);
    expect(run.stdout).toBe("");
    expect(JSON.parse(run.stderr)).toMatchObject({
      error: { code: "config-key-unknown", hint: expect.any(String) },
    });
  });

  test("a reader that closes the pipe early ends the command silently with 141, as SIGPIPE would", async () => {
    await using home = await tempHome();
    const { child, ended } = home.start(["config", "keys", "--json"]);
    child.stdout.destroy();
    expect(await ended).toMatchObject({ exitCode: 141, stderr: "" });
  });

  test("a reader of stderr that closes the pipe early does not end the command", async () => {
    await using home = await tempHome();
    await mkdir(home.path, { recursive: true });
    await writeFile(join(home.path, "config.yaml"), "unknown: 1\n");
    const { child, ended } = home.start(["config", "show", "--json"]);
    child.stderr.destroy();
    const run = await ended;
    expect(run.exitCode).toBe(0);
    expect(run.json<unknown[]>().length).toBeGreaterThan(0);
  });

  test("colours appear only on a terminal, and never with NO_COLOR", () => {
    const onTerminal = (prefix: string) =>
      spawnSync("script", ["-qec", `${prefix} ${process.execPath} dist/main.cjs --help`, "/dev/null"], {
        encoding: "utf8",
      }).stdout;
    expect(onTerminal("env -u NO_COLOR TERM=xterm")).toContain("\u001b[1m");
    expect(onTerminal("env NO_COLOR=1 TERM=xterm")).not.toContain("\u001b[");
  });
});

describe("doctor", () => {
  test("boards are compared with the expected schema, and repair reports the same differences", async () => {
    await using home = await tempHome();
    const board = async () => {
      const run = await home.hermes(["doctor", "--json"]);
      return run.json<{ checks: { name: string }[] }>().checks.filter(({ name }) => name === "boards");
    };
    expect(await board()).toMatchObject([{ status: "ok", detail: "none yet" }]);
    await home.hermes(["kanban", "create", "a task"]);
    expect(await board()).toMatchObject([{ status: "ok", detail: "intact: default" }]);
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

  test("a home that cannot be created is reported, although it does not exist yet", async () => {
    await using home = await tempHome();
    const homeOf = async (path: string) => {
      const run = await home.hermes(["doctor", "--json"], { env: { HERMES_HOME: path } });
      return run.json<{ checks: { name: string }[] }>().checks.find(({ name }) => name === "home");
    };
    expect(await homeOf("/sys/hermes/home")).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("no folder can be created in /sys"),
    });
    expect(await homeOf(join(home.folder, "new/home"))).toMatchObject({ status: "ok" });
    expect(await readdir(home.folder)).not.toContain("new");
  });

  test("reports each part with a status, and a hint for each finding", async () => {
    await using home = await tempHome();
    const run = await home.hermes(["doctor", "--json"], { env: { ANTHROPIC_API_KEY: "sk-ant-test" } });
    const { ok, checks } = run.json<{
      ok: boolean;
      checks: { name: string; status: string; detail: string; fix: string }[];
    }>();
    expect(ok).toBe(true);
    expect(checks.find(({ name }) => name === "workers")?.detail).toMatch(
      (await mayCreateCgroup()) ? /^one cgroup per run/ : /^processes are found by environment marker/,
    );
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
      "sandbox",
      "docker",
      "podman",
      "apptainer",
      "ssh",
    ]);
    for (const check of checks) if (check.status !== "ok") expect(check.fix, check.name).not.toBe("");
  });

  test("fails if a requirement of the chosen backend is missing or if other users can read secrets", async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    await writeFile(join(home.path, ".env"), "A=1\n");
    await chmod(home.path, 0o755); // regardless of the umask
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

  test("reports the model that a task would use, and verifies the key on request", async () => {
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

  test("numbers the remaining steps, and --fix does the safe ones; a task makes its secrets private by itself", async () => {
    await using home = await tempHome();
    const secrets = join(home.path, ".env");
    await mkdir(home.path);
    await writeFile(secrets, "A=1\n");
    await chmod(home.path, 0o755); // regardless of the umask
    await chmod(secrets, 0o644);
    const first = await home.hermes(["doctor"]);
    expect(first.stdout).toMatch(/What to do\n {2}1\. home: chmod 700 .*\n {2}2\. secrets: chmod 600 /);
    const fixed = await home.hermes(["doctor", "--fix"]);
    expect(fixed.stderr).toContain(`fixed: chmod 600 ${secrets}`);
    expect(fixed.stdout).not.toContain("chmod");
    await chmod(secrets, 0o640);
    expect((await home.hermes(["kanban", "list"])).stderr).toContain("its mode is now 600");
    expect((await stat(secrets)).mode & 0o777).toBe(0o600);
    expect((await home.hermes(["kanban", "list"])).stderr).toBe("");
  });

  test("reports every problem of the settings instead of stopping at the first", async () => {
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
  "HOME=%j is ignored: no home is created in the current folder",
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
  test("show changes, filtered and as JSON, and never a secret", async () => {
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
  /** Runs a command on a real terminal, types the keys, and returns the whole screen with the exit code. */
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

  test("Ctrl-C at a question exits with 130 and changes nothing", async () => {
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
