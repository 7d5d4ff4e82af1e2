import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { describeWith } from "../support/services.ts";

const run = promisify(execFile);
const ENTRY = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
const LIMIT = 60_000;
const NO_ENGINE = { DOCKER_HOST: "unix:///nonexistent/docker.sock" };

/** A home that nobody has used yet, and a folder for everything temporary. */
async function freshMachine() {
  const home = await tempHome();
  const temporary = join(home.folder, "tmp");
  await mkdir(temporary);
  return {
    ...home,
    temporary,
    demo: (args: readonly string[], env: Readonly<Record<string, string>> = NO_ENGINE) =>
      home.hermes(["demo", "--fast", ...args], { env: { TMPDIR: temporary, ...env }, cwd: home.folder }),
    /** The demo as a process that the test can do something to. */
    start(env: Readonly<Record<string, string>> = NO_ENGINE) {
      const PATH = process.env["PATH"] ?? "";
      return spawn(process.execPath, [ENTRY, "demo", "--fast"], {
        env: { PATH, HOME: home.folder, HERMES_HOME: home.path, TMPDIR: temporary, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
    },
  };
}

/** A stand-in for a container program. */
async function writeClient(folder: string, script: string): Promise<string> {
  const path = join(folder, "client");
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** What a person must have seen, in this order. */
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
  /\? terminal sh check-all\.sh: interrupted, outcome unknown/,
  /→ terminal tail/,
  /all 24 cases agree/,
  /→ write_file NOTES\.md/,
  /> Are you done\?/,
  /^Yes\./,
  /24 of 24 cases were checked, each of them once/,
  /hermes -z /,
];

function expectStory(stdout: string): void {
  const lines = stdout.split("\n");
  let from = 0;
  for (const wanted of STORY) {
    const at = lines.findIndex((line, index) => index >= from && wanted.test(line));
    expect(at, `${wanted} in\n${lines.slice(from).join("\n")}`).toBeGreaterThanOrEqual(from);
    from = at;
  }
}

describe("hermes demo", () => {
  test(
    "fixes a program, is killed on the way, goes on, and leaves nothing behind",
    async () => {
      await using machine = await freshMachine();
      const { exitCode, stdout, stderr } = await machine.demo(["--local"]);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expectStory(stdout);
      expect(stdout).toContain("run on this machine, in a temporary folder (--local)");
      expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
      expect(stdout).not.toContain("\u001b");
      expect(await readdir(machine.temporary)).toEqual([]);
      await expect(access(machine.path)).rejects.toThrow("ENOENT"); // nothing of the person's was touched
    },
    LIMIT,
  );

  test(
    "settings of the person, even broken ones, and variables for them do not matter",
    async () => {
      await using machine = await freshMachine();
      await mkdir(machine.path);
      await writeFile(join(machine.path, "config.yaml"), "terminal: [broken\n");
      const env = {
        TERMINAL_ENV: "ssh",
        TERMINAL_TIMEOUT: "0",
        HERMES_MODEL_PROVIDER: "nobody",
        ...NO_ENGINE,
      };
      const { exitCode, stdout } = await machine.demo([], env);
      expect(exitCode).toBe(0);
      expectStory(stdout);
    },
    LIMIT,
  );

  test(
    "where the engine does not run, or its sandbox does not work, it stays on this machine and says why",
    async () => {
      await using machine = await freshMachine();
      const HERMES_DOCKER_BINARY = await writeClient(machine.folder, "exit 1");
      const dead = await machine.demo([], { HERMES_DOCKER_BINARY });
      expect(dead.exitCode).toBe(0);
      expect(dead.stdout).toContain("(Docker does not run)");

      await writeClient(
        machine.folder,
        "case $1 in image) echo busybox:latest;; *) echo broken >&2; exit 1;; esac",
      );
      const broken = await machine.demo([], { HERMES_DOCKER_BINARY });
      expect(broken.exitCode).toBe(0);
      expectStory(broken.stdout);
      const words = broken.stdout.replace(/\s+/g, " "); // its lines are wrapped
      expect(words).toContain("(a Docker sandbox was tried and does not work: ");
    },
    LIMIT,
  );

  test(
    "Ctrl-C in the middle ends it with 130 and cleans up",
    async () => {
      await using machine = await freshMachine();
      const child = machine.start();
      const closed = once(child, "close");
      for await (const text of child.stdout.setEncoding("utf8"))
        if (text.includes("check-all.sh")) child.kill("SIGINT");
      expect(await closed).toEqual([130, null]);
      expect(await readdir(machine.temporary)).toEqual([]);
    },
    LIMIT,
  );

  test(
    "a reader that leaves early leaves nothing behind either",
    async () => {
      await using machine = await freshMachine();
      const child = machine.start();
      const closed = once(child, "close");
      await once(child.stdout, "data");
      child.stdout.destroy();
      child.stderr.resume();
      await closed;
      await vi.waitFor(async () => expect(await readdir(machine.temporary)).toEqual([]), { timeout: 60_000 });
    },
    LIMIT,
  );
});

describeWith("docker", "hermes demo with Docker", ({ host, client, images }) => {
  const env = { DOCKER_HOST: host, HERMES_DOCKER_BINARY: client, TERMINAL_DOCKER_IMAGE: images.bash };
  const docker = async (...args: readonly string[]): Promise<string> =>
    (await run(client, args, { env: { ...process.env, DOCKER_HOST: host } })).stdout;
  /** The sandboxes that have something of the folder. */
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
    "works in a sandbox of the person's image and removes it",
    async () => {
      await using machine = await freshMachine();
      removeWhenFinished(machine.temporary);
      const { exitCode, stdout, stderr } = await machine.demo([], env);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expectStory(stdout);
      expect(stdout).toContain(`run in a Docker sandbox (image ${images.bash}:latest)`);
      expect(await sandboxesOf(machine.temporary)).toEqual([]);
      expect(await readdir(machine.temporary)).toEqual([]);
    },
    LIMIT,
  );

  test(
    "Ctrl-C in the middle removes the sandbox, too",
    async () => {
      await using machine = await freshMachine();
      removeWhenFinished(machine.temporary);
      const child = machine.start(env);
      const closed = once(child, "close");
      let seen: string[] = [];
      for await (const text of child.stdout.setEncoding("utf8")) {
        if (!text.includes("check-all.sh")) continue;
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
