import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { expect, test, vi } from "vitest";
import { readTextFile } from "../../src/lib/files/files.ts";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { describeWith } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 }); // each test starts the program several times

describeWith("docker", "the start of hermes sandbox exec", (service) => {
  /** A home whose client on the PATH records the first two words of each call. */
  async function withCalls(settings: Readonly<Record<string, string>> = {}) {
    const home = await openSandboxHome(service, settings);
    const programs = join(home.folder, "programs");
    const calls = join(home.folder, "calls");
    await mkdir(programs);
    await writeFile(
      join(programs, "docker"),
      `#!/bin/sh\necho "$1 $2" >> ${calls}\nexec ${service.client} "$@"\n`,
    );
    await chmod(join(programs, "docker"), 0o755);
    const env = { PATH: [programs, process.env["PATH"]].join(delimiter) };
    const exec = async (command: string) => {
      await rm(calls, { force: true });
      const run = await home.start(["exec", "--", command], { env }).ended;
      const seen = (await readTextFile(calls)) ?? "";
      return { ...run, calls: seen.split("\n").slice(0, -1).toSorted() };
    };
    return { home, exec };
  }

  test("a command in a running sandbox starts no client if the engine's socket is known", async () => {
    const { home, exec } = await withCalls();
    await using _ = home;
    expect(await exec("true")).toMatchObject({ exitCode: 0, stderr: "" });
    const both = "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 7";
    const { exitCode, calls, stdout, stderr } = await exec(both);
    expect({ exitCode, calls, lengths: [stdout.length, stderr.length] }).toEqual({
      exitCode: 7,
      calls: [],
      lengths: [3_000_000, 2_000_000],
    });
  });

  test("with a configured client, a command in a running sandbox takes one version check, one inspect and one shell", async () => {
    const { home, exec } = await withCalls({ HERMES_DOCKER_BINARY: "docker" });
    await using _ = home;
    expect(await exec("true")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await exec("echo again")).toMatchObject({
      stdout: "again\n",
      stderr: "",
      calls: ["--version ", "container inspect", "exec -i"],
    });
  });

  test("a sandbox that must be replaced is inspected before a shell is started in it", async () => {
    const { home, exec } = await withCalls({ TERMINAL_DOCKER_ON_DRIFT: "replace" });
    await using _ = home;
    await exec("touch /first");
    const [first] = await home.containers();
    const env = { TERMINAL_DOCKER_PIDS_LIMIT: "55" };
    const replaced = await home.exec("ls /first", { env });
    expect(replaced.stderr).toContain("was replaced, because it was created with other settings");
    expect(await home.containers()).toEqual([expect.not.stringMatching(first ?? "")]);
  });

  test("in a stopped, paused or removed sandbox the command runs once", async () => {
    await using home = await openSandboxHome(service);
    const count = async () =>
      (await home.exec("echo x >> /workspace/count; wc -l < /workspace/count")).stdout.trim();
    expect(await count()).toBe("1");
    await home.docker("stop", "-t", "0", ...(await home.containers()));
    expect(await count()).toBe("2");
    await home.docker("pause", ...(await home.containers()));
    expect(await count()).toBe("3");
    await home.docker("rm", "-f", ...(await home.containers()));
    const recreated = await home.exec("wc -l < /workspace/count");
    expect(recreated).toMatchObject({
      stdout: "3\n",
      stderr: expect.stringContaining("removed by another program"),
    });
    expect((await home.exec("true")).stderr).toBe("");
    await home.sandbox(["rm"]);
    expect((await home.exec("true")).stderr).toBe("");
  });

  test("a command whose sandbox is paused still times out, and the error says why it was not ended", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("true");
    const containers = await home.containers();
    const run = home.start(["exec", "--timeout", "10", "--", "echo started; sleep 600"]);
    await run.printed("started");
    await home.docker("pause", ...containers);
    const { exitCode, stderr } = await run.ended;
    expect(exitCode).toBe(124);
    expect(stderr).toContain("is paused, so its processes cannot be ended until it is unpaused");
    await home.docker("unpause", ...containers);
    await vi.waitFor(async () => expect(await home.processes()).not.toContain("sleep 600"), {
      timeout: 60_000,
      interval: 100,
    });
  });

  test("C15: no command is sent to a foreign container with our name", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("true");
    const [ours = ""] = await home.containers();
    const name = (await home.docker("inspect", "--format", "{{.Name}}", ours)).slice(1);
    await home.docker("rm", "-f", ours);
    await using foreign = await startForeignContainer(home, name, service.images.bash);
    const run = await home.exec("touch /tmp/touched");
    expect(run.exitCode).toBe(125);
    expect(run.stderr).toContain("was not created by Hermes");
    expect(await foreign.changes()).toBe("");
    await vi.waitFor(async () => expect(await foreign.processes()).toMatch(/^\s*\d+\s+sleep 1000$/), {
      timeout: 60_000,
      interval: 100,
    });
  });
});

async function startForeignContainer(home: SandboxHome, name: string, image: string) {
  await home.docker("run", "-d", "--name", name, "--entrypoint", "sleep", image, "1000");
  return {
    changes: () => home.docker("diff", name),
    processes: async () => (await home.top(name)).split("\n").slice(1).join("\n"),
    async [Symbol.asyncDispose]() {
      await home.docker("rm", "-f", name);
    },
  };
}
