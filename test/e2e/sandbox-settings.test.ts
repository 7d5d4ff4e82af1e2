import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as pty from "@lydell/node-pty";
import { expect, test, vi } from "vitest";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { describeWith } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 }); // each starts the program several times

const ENTRY = fileURLToPath(new URL("../../dist/main.cjs", import.meta.url));

describeWith("docker", "settings of a sandbox, from outside", (service) => {
  test("what is built in /tmp can be executed there", async () => {
    await using home = await openSandboxHome(service);
    const run = await home.exec(
      "printf '#!/bin/sh\\necho ran\\n' > /tmp/built; chmod +x /tmp/built; /tmp/built",
    );
    expect(run).toMatchObject({ exitCode: 0, stdout: "ran\n", stderr: "" });
  });

  test("only root enters /root, and only its user writes to /workspace", async () => {
    await using home = await openSandboxHome(service);
    expect((await home.exec("stat -c %a /root /workspace")).stdout).toBe("700\n755\n");
  });

  test("a user that is not root works in /root and /workspace, too", async () => {
    await using home = await openSandboxHome(service, {
      TERMINAL_DOCKER_EXTRA_ARGS: '["--user", "4321:4322"]',
    });
    const run = await home.exec("touch /root/a /workspace/b && stat -c %u /root/a /workspace/b");
    expect(run).toMatchObject({ exitCode: 0, stdout: "4321\n4321\n", stderr: "" });
  });

  test.each([
    ["TERMINAL_CONTAINER_MEMORY", "1", "terminal.container_memory"],
    ["TERMINAL_CONTAINER_CPU", "0.001", "terminal.container_cpu"],
    ["TERMINAL_DOCKER_SHM_SIZE", "abc", "terminal.docker_shm_size"],
  ])("a limit that the engine refuses is not left out: %s=%s", async (variable, value, setting) => {
    await using home = await openSandboxHome(service, { [variable]: value });
    const run = await home.exec("true");
    expect(run.exitCode).toBe(125);
    expect(run.stderr).toContain(`The engine refuses the value of ${setting}`);
    expect(await home.containers()).toEqual([]);
  });

  test("a volume that cannot be understood is told once by each command", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_VOLUMES: '["nocolon"]' });
    const told =
      "hermes: terminal.docker_volumes: nocolon was skipped, because it is not of the form host:container.\n";
    expect((await home.exec("true")).stderr).toBe(told);
    expect((await home.sandbox(["status"])).stderr).toBe(told);
    expect((await home.sandbox(["list"])).stderr).toBe(told);
  });

  test("a mode that the engine does not know is not blamed on the image", async () => {
    await using home = await openSandboxHome(service);
    const folder = join(home.folder, "data");
    await mkdir(folder);
    const env = { TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${folder}:/data:bogus`]) };
    const run = await home.exec("true", { env });
    expect(run.exitCode).toBe(125);
    expect(run.stderr).toMatch(/invalid mode: .*bogus\n {2}Check the settings terminal\.docker_volumes/);
    expect(run.stderr).not.toContain("sleep");
  });

  test("a disk limit that the storage cannot have is told once, and again when it is changed", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_CONTAINER_DISK: "51200" });
    const create = async (task: string, env = {}) =>
      (await home.sandbox(["exec", "--task", task, "--", "true"], { env })).stderr;
    expect(await create("one")).toContain("terminal.container_disk is not applied");
    expect(await create("two")).toBe("");
    expect(await create("three", { TERMINAL_CONTAINER_DISK: "100" })).toContain("cannot limit it to 100 MB");
  });

  test.each([
    ["a volume", { TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${service.socket}:/x.sock`]) }],
    ["the folder of it", { TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${dirname(service.socket)}:/x:ro`]) }],
    ["--mount", extraArguments("--mount", `type=bind,Source=${service.socket},target=/x`)],
    ["-v", extraArguments("-v", `${service.socket}:/x`)],
    ["--use-api-socket", extraArguments("--use-api-socket")],
  ])("an engine's socket is refused unless it is asked for by name: %s", async (_, settings) => {
    await using home = await openSandboxHome(service, settings);
    const run = await home.exec("true");
    expect(run.exitCode).toBe(125);
    expect(run.stderr).toMatch(/controls? the whole machine/);
    expect(run.stderr).toContain("terminal.docker_allow_engine_socket");
    expect(await home.containers()).toEqual([]);
  });

  test.each([
    [
      "a folder that is gone",
      "/no-such-folder:/w",
      "Cannot mount /no-such-folder into the sandbox: it does not exist.",
    ],
    ["an engine's socket", `${service.socket}:/w`, "Refused to mount"],
    ["one that cannot be understood", "/a:b", "terminal.docker_volumes: /a:b cannot be understood."],
  ])(
    "a volume that cannot be mounted keeps nobody from looking after the sandbox: %s",
    async (_, volume, told) => {
      await using home = await openSandboxHome(service);
      await home.exec("true");
      const env = { TERMINAL_DOCKER_VOLUMES: JSON.stringify([volume]) };
      for (const verb of ["status", "list"]) {
        const looked = await home.sandbox([verb], { env });
        expect(looked).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("running") });
        expect(looked.stderr.split(told)).toHaveLength(2);
      }
      for (const args of [["explain"], ["gc"], ["snapshot"], ["snapshots"], ["prune"], ["stop"], ["rm"]]) {
        expect(await home.sandbox(args, { env }), args.join()).toMatchObject({ exitCode: 0 });
      }
      expect(await home.containers()).toEqual([]);
      const made = await home.exec("true", { env });
      expect(made).toMatchObject({ exitCode: 125, stderr: expect.stringContaining(told) });
      expect(await home.containers()).toEqual([]);
    },
  );

  test("explain says what the kernel and the engine do, whatever the settings say", async () => {
    await using home = await openSandboxHome(service, {
      TERMINAL_DOCKER_ALLOW_ENGINE_SOCKET: "true",
      TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${service.socket}:/engine`]),
      ...extraArguments(
        "--security-opt",
        "no-new-privileges:false",
        "--security-opt=seccomp=unconfined",
        "--pid=host",
      ),
    });
    expect((await home.exec("true")).stderr).toBe("");
    const { stdout, stderr } = await home.sandbox(["explain"]);
    expect(stderr).toBe("");
    for (const line of [
      "ENGINE SOCKET /engine: commands control the engine, and with it the whole machine",
      "new privileges possible",
      "system calls not filtered (seccomp is off)",
      "namespace pid of the host: the machine's processes can be seen",
    ]) {
      expect(stdout.split("\n")).toContain(line);
    }
    await home.sandbox(["stop"]);
    const stopped = await home.sandbox(["explain"]);
    expect(stopped.stderr).toContain("it does not run");
    expect(stopped.stdout).toContain("new privileges possible");
  });

  test("a home that is reached through a link has the same sandbox, made with the same settings", async () => {
    await using home = await openSandboxHome(service);
    expect((await home.exec("true")).stderr).toBe("");
    const link = join(home.folder, "link");
    await symlink(home.path, link);
    const through = { env: { HERMES_HOME: link } };
    expect(await home.exec("true", through)).toMatchObject({ exitCode: 0, stderr: "" });
    expect((await home.sandbox(["status"], through)).stdout).toContain("it matches the settings");
    expect(await home.containers()).toHaveLength(1);
  });

  test("env_passthrough and docker_forward_env reach commands, jobs and shells, and a provider's key does not", async () => {
    await using home = await openSandboxHome(service, {
      TERMINAL_ENV_PASSTHROUGH: '["PASSED", "OPENAI_API_KEY"]',
      TERMINAL_DOCKER_FORWARD_ENV: '["FORWARDED"]',
      PASSED: "p-value",
      FORWARDED: "f-value",
      OPENAI_API_KEY: "sk-value",
    });
    const show = 'echo "[$PASSED] [$FORWARDED] [$OPENAI_API_KEY]"';
    expect(await home.exec(show)).toMatchObject({ stdout: "[p-value] [f-value] []\n", stderr: "" });

    const id = (await home.sandbox(["jobs", "start", "--", show])).stdout.trim();
    const log = await home.sandbox(["jobs", "log", "--follow", id]);
    expect(log.stdout).toBe("[p-value] [f-value] []\n");

    expect(await typeInShell(home, `${show}; exit`)).toContain("[p-value] [f-value] []");
    const described = await home.docker("inspect", ...(await home.containers()));
    expect(described).not.toMatch(/[pf]-value/);
  });

  test("a variable of .env that would change the container program is kept from a shell, and told", async () => {
    await using home = await openSandboxHome(service, {
      TERMINAL_DOCKER_FORWARD_ENV: '["DOCKER_CONFIG", "PATH"]',
      PATH: process.env["PATH"] ?? "",
    });
    await home.exec("true");
    await writeFile(join(home.path, ".env"), "DOCKER_CONFIG=/nonexistent/config\n");
    const screen = await typeInShell(home, 'echo "[$DOCKER_CONFIG]"; exit');
    expect(screen).toContain("DOCKER_CONFIG is not handed to the shell");
    expect(screen).toContain("[]");
  });
});

/** Settings with these further arguments of the create command. */
function extraArguments(...args: readonly string[]): Record<string, string> {
  return { TERMINAL_DOCKER_EXTRA_ARGS: JSON.stringify(args) };
}

/** Types one line into `hermes sandbox shell` and resolves to all that the terminal showed. */
function typeInShell(home: SandboxHome, line: string): Promise<string> {
  return new Promise((resolve) => {
    const child = pty.spawn(process.execPath, [ENTRY, "sandbox", "shell"], {
      env: { ...home.variables },
      rows: 24,
      cols: 200,
    });
    let screen = "";
    let isTyped = false;
    child.onData((text) => {
      screen += text;
      if (isTyped || !/[#$] $/.test(screen)) return;
      isTyped = true;
      child.write(`${line}\r`);
    });
    child.onExit(() => resolve(screen));
  });
}
