import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { spawnInPty } from "../support/pty.ts";
import { describeWith } from "../support/services.ts";

const run = promisify(execFile);
const ENTRY = fileURLToPath(new URL("../../dist/main.cjs", import.meta.url));
const LIMIT = 600_000;
const WAIT = { timeout: 300_000, interval: 200 };
const NO_ENGINE = { DOCKER_HOST: "unix:///nonexistent/docker.sock" };

/** Creates an unused home and a folder for temporary files. */
async function freshMachine() {
  const home = await tempHome();
  const temporary = join(home.folder, "tmp");
  await mkdir(temporary);
  return {
    ...home,
    temporary,
    demo: (args: readonly string[], env: Readonly<Record<string, string>> = NO_ENGINE) =>
      home.hermes(["demo", "--fast", ...args], { env: { TMPDIR: temporary, ...env }, cwd: home.folder }),
    /** The demo as a separate process, at its normal speed, so that the test can interrupt it. */
    start(env: Readonly<Record<string, string>> = NO_ENGINE, args: readonly string[] = []) {
      const PATH = process.env["PATH"] ?? "";
      return spawn(process.execPath, [ENTRY, "demo", ...args], {
        env: { PATH, HOME: home.folder, HERMES_HOME: home.path, TMPDIR: temporary, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
    },
  };
}

/** A replacement for a container program. */
async function writeClient(folder: string, script: string): Promise<string> {
  const path = join(folder, "client");
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** What the demo must print, in this order. */
const STORY = [
  /scripted/,
  /\$ hermes chat .*Fix pages\.sh/,
  /→ read_file pages\.sh/,
  /→ terminal sh test\.sh/,
  /FAIL/,
  /→ patch pages\.sh/,
  /-echo \$\(\(\$1 \/ \$2\)\)/,
  /→ terminal sh check-all\.sh/,
  /kill -9 \d+/,
  /\$ hermes chat -c /,
  /> You were interrupted\. Continue\./,
  /\? terminal sh check-all\.sh: interrupted, outcome unknown/,
  /→ terminal tail/,
  /all 24 cases agree/,
  /→ write_file NOTES\.md/,
  /no case was checked twice/,
  /24 of 24 cases were checked, each exactly once/,
  /hermes -z /,
];

/** The same for `demo board`. */
const BOARD_STORY = [
  /scripted/,
  /\$ hermes kanban daemon/,
  /1 Write the spec .* starts \(run 1, process \d+\)/,
  /1 Write the spec .* done: /,
  /6 Check 24 cases .* starts/,
  /kill -9 \d+: the worker of task 6/,
  /6 Check 24 cases .* crashed; it will be retried/,
  /\$ hermes kanban unguard t_/,
  /6 Check 24 cases .* starts/,
  /6 Check 24 cases .* done: all 24 cases agree/,
  /8 Pack it all up .* done: /,
  /the board: 8 of 8 done/,
  /9 runs for 8 tasks: one was killed, and each task was completed once/,
  /24 of 24 cases were checked, each exactly once/,
  /hermes kanban create /,
];

function expectStory(stdout: string, story: readonly RegExp[] = STORY): void {
  const lines = stdout.split("\n");
  let from = 0;
  for (const wanted of story) {
    const at = lines.findIndex((line, index) => index >= from && wanted.test(line));
    expect(at, `${wanted} in\n${lines.slice(from).join("\n")}`).toBeGreaterThanOrEqual(from);
    from = at;
  }
}

describe("hermes demo", () => {
  test(
    "without a sandbox that works, it fixes a program on this machine, is killed midway, resumes, and leaves nothing behind",
    async () => {
      await using machine = await freshMachine();
      const HERMES_DOCKER_BINARY = await writeClient(
        machine.folder,
        "case $1 in image) echo busybox:latest;; *) echo broken >&2; exit 1;; esac",
      );
      const { exitCode, stdout, stderr } = await machine.demo([], { HERMES_DOCKER_BINARY });
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expectStory(stdout);
      const words = stdout.replace(/\s+/g, " "); // its lines are wrapped
      expect(words).toContain(
        "run on this machine, in a temporary folder (a Docker sandbox was tried and does",
      );
      expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
      expect(stdout).not.toContain("\u001b");
      expect(stdout).toMatch(/ setup +choose a model, then chat/);
      expect(await readdir(machine.temporary)).toEqual([]);
      await expect(access(machine.path)).rejects.toThrow("ENOENT"); // the user's own home was not touched
    },
    LIMIT,
  );

  test(
    "it runs without an engine and with broken settings of the user; Ctrl-C in the middle ends it with 130 and cleans up",
    async () => {
      await using machine = await freshMachine();
      await mkdir(machine.path);
      await writeFile(join(machine.path, "config.yaml"), "terminal: [broken\n");
      const HERMES_DOCKER_BINARY = await writeClient(machine.folder, "exit 1");
      const settings = { TERMINAL_ENV: "ssh", TERMINAL_TIMEOUT: "0", HERMES_MODEL_PROVIDER: "nobody" };
      const child = machine.start({ HERMES_DOCKER_BINARY, ...settings });
      const closed = once(child, "close");
      let printed = "";
      for await (const text of child.stdout.setEncoding("utf8")) {
        const isSignalled = printed.includes("check-all.sh");
        printed += text;
        if (!isSignalled && printed.includes("check-all.sh")) child.kill("SIGINT");
      }
      expect(await closed).toEqual([130, null]);
      expect(printed).toContain("run on this machine, in a temporary folder (Docker does not run)");
      expectStory(printed, STORY.slice(0, 7));
      expect(await readdir(machine.temporary)).toEqual([]);
    },
    LIMIT,
  );

  test(
    "with --local it uses no engine; a reader that closes the pipe early leaves nothing behind either",
    async () => {
      await using machine = await freshMachine();
      const child = machine.start(NO_ENGINE, ["--local"]);
      const closed = once(child, "close");
      let printed = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        if (printed.includes("temporary folder (--local)")) child.stdout.destroy();
      });
      child.stderr.resume();
      await closed;
      expect(printed).toContain("run on this machine, in a temporary folder (--local)");
      await vi.waitFor(async () => expect(await readdir(machine.temporary)).toEqual([]), {
        timeout: 150_000,
      });
    },
    LIMIT,
  );
});

/** Finds the processes with the folder in their environment or arguments. */
async function processesIn(folder: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const read = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
  const rows = await Promise.all(
    pids.map(async (pid) => ({ pid, text: (await read(pid, "environ")) + (await read(pid, "cmdline")) })),
  );
  return rows.flatMap(({ pid, text }) => (text.includes(folder) ? [pid] : []));
}

describe("hermes demo board", () => {
  test(
    "on a terminal, completes a board that is redrawn as it changes, with a worker killed midway, and leaves nothing behind",
    async () => {
      await using machine = await freshMachine();
      const env = { PATH: process.env["PATH"] ?? "", HOME: machine.folder, TMPDIR: machine.temporary };
      const terminal = spawnInPty([process.execPath, ENTRY, "demo", "board", "--fast"], {
        cols: 80,
        rows: 24,
        env: { ...env, HERMES_HOME: machine.path, TERM: "xterm", NO_COLOR: "1" },
      });
      let seen = "";
      terminal.onData((text) => {
        seen += text;
      });
      await expect.poll(() => seen, { timeout: LIMIT }).toMatch(/code=\d+/);
      terminal.kill();
      expect(seen).toContain("code=0");
      expect(seen.split("\u001b[10A\u001b[J").length).toBeGreaterThan(8); // moves up ten lines and clears
      expect(seen).toMatch(/6 {2}Check 24 cases +tester +running +run \d+, case \d+ of 24/);
      expect(seen).toMatch(/7 {2}Print the table +coder +waiting +for 2, 3/);
      expectStory(seen.replaceAll("\r", ""), BOARD_STORY);
      expect(seen).toMatch(/ setup +choose a model, then chat/);
      expect(await readdir(machine.temporary)).toEqual([]);
      await expect.poll(() => processesIn(machine.folder)).toEqual([]);
      await expect(access(machine.path)).rejects.toThrow("ENOENT"); // the user's own home was not touched
    },
    LIMIT,
  );

  test(
    "without a terminal, prints plain lines; Ctrl-C ends the demo with 130, including daemon, supervisors and workers",
    async () => {
      await using machine = await freshMachine();
      const child = machine.start(NO_ENGINE, ["board", "--fast"]);
      const closed = once(child, "close");
      let printed = "";
      let running: string[] = [];
      for await (const text of child.stdout.setEncoding("utf8")) {
        printed += text;
        if (!text.includes("starts (run") || running.length > 2) continue;
        running = await processesIn(machine.folder);
        if (running.length > 2) child.kill("SIGINT");
      }
      expect(running.length).toBeGreaterThan(2);
      expect(await closed).toEqual([130, null]);
      expectStory(printed, BOARD_STORY.slice(0, 3));
      expect(printed.split("\n").filter((line) => line.length > 80)).toEqual([]);
      expect(printed).not.toContain("\u001b");
      expect(await processesIn(machine.folder)).toEqual([]);
      expect(await readdir(machine.temporary)).toEqual([]);
    },
    LIMIT,
  );

  test(
    "a reader that closes the pipe early leaves no process and no folder either",
    async () => {
      await using machine = await freshMachine();
      const child = machine.start(NO_ENGINE, ["board"]);
      const closed = once(child, "close");
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        if (text.includes("starts (run")) child.stdout.destroy();
      });
      child.stderr.resume();
      await closed;
      await vi.waitFor(async () => expect(await processesIn(machine.folder)).toEqual([]), {
        timeout: 150_000,
      });
      expect(await readdir(machine.temporary)).toEqual([]);
    },
    LIMIT,
  );

  test("the help names both demos", async () => {
    await using machine = await freshMachine();
    const { exitCode, stdout } = await machine.hermes(["demo", "--help"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("  hermes demo --local --fast\n");
    expect(stdout).toContain("  hermes demo board");
    const misspelt = await machine.hermes(["demo", "bord"]);
    expect(misspelt).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("`hermes demo board`") });
  });
});

test(
  "a demo with --docker fails instead of running on this machine if no sandbox is possible",
  async () => {
    await using machine = await freshMachine();
    const { exitCode, stderr } = await machine.demo(["--docker"]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^hermes: The demo found no sandbox: .+\n {2}.+omit --docker/);
    expect(await readdir(machine.temporary)).toEqual([]);
    expect((await machine.demo(["--docker", "--local"])).exitCode).toBe(2);
  },
  LIMIT,
);

describeWith("docker", "hermes demo with Docker", ({ host, client, images }) => {
  const env = { DOCKER_HOST: host, HERMES_DOCKER_BINARY: client, TERMINAL_DOCKER_IMAGE: images.bash };
  const docker = async (...args: readonly string[]): Promise<string> =>
    (await run(client, args, { env: { ...process.env, DOCKER_HOST: host } })).stdout;
  /** The sandboxes that mount something of the folder. */
  const sandboxesOf = async (folder: string): Promise<string[]> => {
    const listed = await docker("ps", "--all", "--no-trunc", "--format", "{{.Names}} {{.Mounts}}");
    return listed.split("\n").flatMap((line) => (line.includes(folder) ? [line.split(" ")[0] ?? ""] : []));
  };
  const removeWhenFinished = (folder: string): void =>
    onTestFinished(async () => {
      const names = await sandboxesOf(folder);
      if (names.length > 0) await docker("rm", "--force", "--volumes", ...names);
    });

  test(
    "works in a sandbox of the user's image and removes it",
    async () => {
      await using machine = await freshMachine();
      removeWhenFinished(machine.temporary);
      const { exitCode, stdout, stderr } = await machine.demo(["--docker"], env);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expectStory(stdout);
      expect(stdout).toContain(`run in a Docker sandbox (image ${images.bash}:latest)`);
      expect(await sandboxesOf(machine.temporary)).toEqual([]);
      expect(await readdir(machine.temporary)).toEqual([]);
    },
    LIMIT,
  );

  test(
    "Ctrl-C in the middle removes the sandbox too",
    async () => {
      await using machine = await freshMachine();
      removeWhenFinished(machine.temporary);
      const child = machine.start(env, ["--docker"]);
      const closed = once(child, "close");
      let seen: string[] | undefined;
      for await (const text of child.stdout.setEncoding("utf8")) {
        if (seen !== undefined || !text.includes("check-all.sh")) continue;
        seen = await sandboxesOf(machine.temporary);
        child.kill("SIGINT");
      }
      expect(seen).toHaveLength(1);
      expect(await closed).toEqual([130, null]);
      expect(await sandboxesOf(machine.temporary)).toEqual([]);
      expect(await readdir(machine.temporary)).toEqual([]);
    },
    LIMIT,
  );
});

describe("hermes demo dashboard", () => {
  test(
    "a browser sees the board and answers the question of one task, which is then done; Ctrl-C leaves nothing behind",
    async () => {
      await using machine = await freshMachine();
      const child = machine.start(NO_ENGINE, ["dashboard", "--no-open", "--fast"]);
      const closed = once(child, "close");
      let printed = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
      const [, origin = "", code = ""] = await vi.waitFor(() => {
        const link = /(http:\/\/127\.0\.0\.1:\d+)\/enter#(\S+)/.exec(printed);
        if (link === null) throw new Error(`no link in ${printed}`);
        return link;
      }, WAIT);
      const send = (path: string, body: object, cookie = ""): Promise<Response> =>
        fetch(`${origin}/api/${path}`, {
          method: "POST",
          headers: { "Content-Type": "application/json", "X-Hermes": "1", Cookie: cookie },
          body: JSON.stringify(body),
        });
      const cookie = (await send("enter", { code })).headers.get("set-cookie")?.split(";")[0] ?? "";
      const cardsIn = async (wanted: string): Promise<readonly { id: string; title: string }[]> => {
        const answer = await fetch(`${origin}/api/boards/default/cards`, { headers: { Cookie: cookie } });
        const { columns } = (await answer.json()) as {
          columns: readonly { status: string; cards: readonly { id: string; title: string }[] }[];
        };
        return columns.find(({ status }) => status === wanted)?.cards ?? [];
      };
      const [asking] = await vi.waitFor(async () => {
        const blocked = await cardsIn("blocked");
        expect(blocked.map(({ title }) => title)).toEqual(["Choose a licence"]);
        return blocked;
      }, WAIT);
      const answered = await send(
        `boards/default/tasks/${asking?.id}/answer`,
        { body: "MIT", unblock: true },
        cookie,
      );
      expect(answered.ok).toBe(true);
      await vi.waitFor(
        async () => expect((await cardsIn("done")).map(({ id }) => id)).toContain(asking?.id),
        WAIT,
      );
      child.kill("SIGINT");
      expect(await closed).toEqual([0, null]);
      expect(await readdir(machine.temporary)).toEqual([]);
      expect(await processesIn(machine.folder)).toEqual([]);
    },
    LIMIT,
  );
});
