import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { spawnInPty } from "../support/pty.ts";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { describeWith } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 }); // each test starts the program several times

const ENTRY = fileURLToPath(new URL("../../dist/main.cjs", import.meta.url));

describeWith("docker", "settings of a sandbox, from outside", (service) => {
  test("programs built in /tmp can be executed, only root can enter /root, and only its user can write to /workspace", async () => {
    await using home = await openSandboxHome(service);
    const run = await home.exec(
      "printf '#!/bin/sh\\necho ran\\n' > /tmp/built; chmod +x /tmp/built; /tmp/built; stat -c %a /root /workspace",
    );
    expect(run).toMatchObject({ exitCode: 0, stdout: "ran\n700\n755\n", stderr: "" });
    // A home that is reached through a link has the same sandbox, created with the same settings.
    const link = join(home.folder, "link");
    await symlink(home.path, link);
    const through = { env: { HERMES_HOME: link } };
    expect(await home.exec("/tmp/built", through)).toMatchObject({
      exitCode: 0,
      stdout: "ran\n",
      stderr: "",
    });
    expect((await home.sandbox(["status"], through)).stdout).toContain("it matches the settings");
    expect(await home.containers()).toHaveLength(1);
  });

  test("a user that is not root can work in /root and /workspace too", async () => {
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
  ])("a limit that the engine refuses is not omitted: %s=%s", async (variable, value, setting) => {
    await using home = await openSandboxHome(service, { [variable]: value });
    const run = await home.exec("true");
    expect(run.exitCode).toBe(125);
    expect(run.stderr).toContain(`The engine refuses the value of ${setting}`);
    expect(await home.containers()).toEqual([]);
  });

  test("each command reports an invalid volume once", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_VOLUMES: '["nocolon"]' });
    const notice =
      "hermes: terminal.docker_volumes: nocolon was skipped, because it is not of the form host:container.\n";
    expect(await home.exec("echo made")).toMatchObject({ exitCode: 0, stdout: "made\n", stderr: notice });
    expect((await home.sandbox(["status"])).stderr).toBe(notice);
    expect((await home.sandbox(["list"])).stderr).toBe(notice);
  });

  test("the error about an unknown volume mode does not name the image as the cause", async () => {
    await using home = await openSandboxHome(service);
    const folder = join(home.folder, "data");
    await mkdir(folder);
    const env = { TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${folder}:/data:bogus`]) };
    const run = await home.exec("true", { env });
    expect(run.exitCode).toBe(125);
    expect(run.stderr).toMatch(/invalid mode: .*bogus\n {2}Check the settings terminal\.docker_volumes/);
    expect(run.stderr).not.toContain("sleep");
  });

  test("an extra argument that the engine refuses is named, without its value, and not the image", async () => {
    await using home = await openSandboxHome(service, extraArguments("--device=/dev/nonesuch"));
    const run = await home.exec("true");
    expect(run.exitCode).toBe(125);
    expect(run.stderr).toContain(
      "\n  The engine may not support the flags in terminal.docker_extra_args (--device). Try without them.\n",
    );
    expect(run.stderr).not.toContain("sleep");
    expect(await home.containers()).toEqual([]);
  });

  test("a disk limit that the storage does not support is reported once, and again when it is changed", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_CONTAINER_DISK: "51200" });
    const create = async (task: string, env = {}) =>
      (await home.sandbox(["exec", "--task", task, "--", "true"], { env })).stderr;
    expect(await create("one")).toContain("terminal.container_disk is not applied");
    expect(await create("two")).toBe("");
    expect(await create("three", { TERMINAL_CONTAINER_DISK: "100" })).toContain("cannot limit it to 100 MB");
  });

  test.each([
    ["a volume", { TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${service.socket}:/x.sock`]) }],
    ["its folder", { TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${dirname(service.socket)}:/x:ro`]) }],
    ["--mount", extraArguments("--mount", `type=bind,Source=${service.socket},target=/x`)],
    ["-v", extraArguments("-v", `${service.socket}:/x`)],
    ["--use-api-socket", extraArguments("--use-api-socket")],
  ])("an engine's socket is refused unless the setting allows it: %s", async (_, settings) => {
    await using home = await openSandboxHome(service, settings);
    const run = await home.exec("true");
    expect(run.exitCode).toBe(125);
    expect(run.stderr).toMatch(/controls? the whole machine/);
    expect(run.stderr).toContain("terminal.docker_allow_engine_socket");
    expect(await home.containers()).toEqual([]);
  });

  test("volumes that cannot be mounted do not prevent the use and maintenance of an existing sandbox", async () => {
    const refusals = {
      "/no-such-folder:/w": "Cannot mount /no-such-folder into the sandbox: it does not exist.",
      [`${service.socket}:/w`]: "Refused to mount",
      "/a:b": "terminal.docker_volumes: /a:b is not a valid volume.",
    };
    await using home = await openSandboxHome(service);
    const mountSettings = (...volumes: readonly string[]) => ({
      env: { TERMINAL_DOCKER_VOLUMES: JSON.stringify(volumes) },
    });
    await home.exec("true");
    const source = join(home.folder, "source");
    await writeFile(source, "copied");
    for (const [volume, notice] of Object.entries(refusals)) {
      for (const verb of ["status", "list"]) {
        const shown = await home.sandbox([verb], mountSettings(volume));
        expect(shown).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("running") });
        expect(shown.stderr.split(notice), volume).toHaveLength(2);
      }
      for (const [args, printed] of [
        [["cp", source, ":/workspace/copy"], ""],
        [["jobs", "start", "--", "true"], "proc_"],
        [["exec", "--", "cat /workspace/copy"], "copied"],
        [["stop"], ""],
        [["exec", "--", "cat /workspace/copy"], "copied"],
      ] as const) {
        const used = await home.sandbox(args, mountSettings(volume));
        expect(used, args.join()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(printed) });
        if (args[0] !== "stop") expect(used.stderr.split(notice), args.join()).toHaveLength(2);
      }
    }
    const all = mountSettings(...Object.keys(refusals));
    for (const args of [["explain"], ["gc"], ["snapshot"], ["snapshots"], ["prune"], ["stop"], ["rm"]]) {
      const run = await home.sandbox(args, all);
      expect(run, args.join()).toMatchObject({ exitCode: 0 });
    }
    expect(await home.containers()).toEqual([]);
    for (const [volume, notice] of Object.entries(refusals)) {
      const made = await home.exec("true", mountSettings(volume));
      expect(made).toMatchObject({ exitCode: 125, stderr: expect.stringContaining(notice) });
    }
    expect(await home.containers()).toEqual([]);
  });

  test("explain reports what the kernel and the engine do, whatever the settings say", async () => {
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
      "namespace pid of the host: processes of the host are visible",
    ]) {
      expect(stdout.split("\n")).toContain(line);
    }
    await home.sandbox(["stop"]);
    const stopped = await home.sandbox(["explain"]);
    expect(stopped.stderr).toContain("the sandbox is not running");
    expect(stopped.stdout).toContain("new privileges possible");
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

  test("a variable of .env that would affect the container program is not passed to a shell, with a notice", async () => {
    await using home = await openSandboxHome(service, {
      TERMINAL_DOCKER_FORWARD_ENV: '["DOCKER_CONFIG", "PATH"]',
      PATH: process.env["PATH"] ?? "",
    });
    await home.exec("true");
    await writeFile(join(home.path, ".env"), "DOCKER_CONFIG=/nonexistent/config\n");
    const screen = await typeInShell(home, 'echo "[$DOCKER_CONFIG]"; exit');
    expect(screen).toContain("DOCKER_CONFIG is not passed to the shell");
    expect(screen).toContain("[]");
  });
});

/** Settings with extra arguments for the create command. */
function extraArguments(...args: readonly string[]): Record<string, string> {
  return { TERMINAL_DOCKER_EXTRA_ARGS: JSON.stringify(args) };
}

/** Types one line into `hermes sandbox shell` and resolves with the output of the terminal. */
async function typeInShell(home: SandboxHome, line: string): Promise<string> {
  const child = spawnInPty([process.execPath, ENTRY, "sandbox", "shell"], { env: home.variables });
  let screen = "";
  child.onData((text) => {
    screen += text;
  });
  await expect.poll(() => screen).toMatch(/[#$] $/);
  child.write(`${line}\r`);
  await expect.poll(() => screen).toMatch(/code=\d+/);
  child.kill();
  return screen;
}
