import { rename, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { expectConsistent, inspectProfile, writeKillingClient } from "../support/sandbox-order.ts";
import { describeWith } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 }); // each test starts the program many times

const soon = { timeout: 150_000, interval: 100 };
const TWO_WEEKS_MS = 14 * 86_400_000;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly action: string;
  readonly reason: string;
  readonly kept_until: string | null;
}

describeWith("docker", "a sandbox that was stopped", (service) => {
  test.concurrent("is kept for two weeks, and stop, status, list and gc name the same day", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("echo kept > /etc/mark");
    const said = await home.sandbox(["stop"]);
    const { kept_until } = (await home.sandbox(["stop", "--json"])).json<Row>();
    const [row] = (await home.sandbox(["list", "--json"])).json<Row[]>();
    const finished = await home.docker("inspect", "-f", "{{.State.FinishedAt}}", row?.id ?? "");
    const date = new Date(Date.parse(finished) + TWO_WEEKS_MS).toISOString();
    expect([kept_until, row?.kept_until]).toEqual([date, date]);
    const shown = `${date.slice(0, 16).replace("T", " ")} UTC`;
    expect(said.stderr).toContain(`kept until ${shown} (terminal.docker_stopped_ttl_seconds)`);
    expect((await home.sandbox(["list"])).stdout).toContain(shown);
    expect((await home.sandbox(["status"])).stdout).toContain(shown);
    const [kept] = (await home.sandbox(["gc", "--dry-run", "--json"])).json<Row[]>();
    expect(kept).toMatchObject({ action: "kept", reason: expect.stringContaining(`kept until ${shown}`) });
    expect(await home.exec("cat /etc/mark")).toMatchObject({ stdout: "kept\n" });
  });

  test.concurrent("is removed after that with a notice, by the next command", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_STOPPED_TTL_SECONDS: "1" });
    await home.exec("true");
    await home.sandbox(["stop"]);
    await vi.waitFor(async () => {
      await rm(join(home.path, "sandboxes/.last-reclaim"), { force: true }); // otherwise it checks only every ten minutes
      const { stderr } = await home.sandbox(["exec", "--task", "other", "--", "true"]);
      expect(stderr).toMatch(/was removed: .*kept until .* UTC \(terminal\.docker_stopped_ttl_seconds\)/);
    }, soon);
    expect(await home.containers()).toHaveLength(1);
    expect((await home.sandbox(["status"])).stdout).toContain("does not exist yet");
  });
});

describeWith("docker", "a sandbox whose folders are in memory", (service) => {
  const settings = { TERMINAL_CONTAINER_PERSISTENT: "false" };

  test.concurrent("F8: stop asks for --force if the folders contain files, and says that the files are lost", async () => {
    await using home = await openSandboxHome(service, settings);
    await home.exec("true");
    const empty = await home.sandbox(["stop"]);
    expect(empty).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/were in memory.* lost/) });
    await home.exec("echo work > /workspace/file");
    const refused = await home.sandbox(["stop"]);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/\/workspace.* in memory/) });
    expect(refused.stderr).toContain("--force");
    expect(await home.exec("cat /workspace/file")).toMatchObject({ exitCode: 0, stdout: "work\n" });
    const stopped = (await home.sandbox(["stop", "--force", "--json"])).json<{ lost_folders: string[] }>();
    expect(stopped.lost_folders).toEqual(["/workspace"]);
  });

  test.concurrent("C50: gc reports what is lost when it stops an idle sandbox", async () => {
    await using home = await openSandboxHome(service, { ...settings, TERMINAL_DOCKER_IDLE_TTL_SECONDS: "1" });
    await home.exec("echo work > /root/file");
    const row = await vi.waitFor(async () => {
      const [first] = (await home.sandbox(["gc", "--json"])).json<Row[]>();
      expect(first).toMatchObject({ action: "stopped" });
      return first;
    }, soon);
    expect(row?.reason).toMatch(/\/root are in memory and are lost/);
  });
});

describeWith("docker", "a sandbox that differs from the settings", (service) => {
  test.concurrent("C17: a network that was connected later is shown by explain, and refused or replaced", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("true");
    const [id = ""] = await home.containers();
    await home.docker("network", "disconnect", "none", id);
    await home.docker("network", "connect", "bridge", id);
    expect((await home.sandbox(["explain"])).stdout).toContain("network bridge (eth0)");
    const refused = await home.exec("true", { env: { TERMINAL_DOCKER_ON_DRIFT: "refuse" } });
    expect(refused).toMatchObject({ exitCode: 125, stderr: expect.stringContaining("it has a network") });
    const replaced = await home.exec("ls /sys/class/net");
    expect(replaced).toMatchObject({ exitCode: 0, stdout: "lo\n" });
    expect(replaced.stderr).toContain("was replaced, because it has a network");
    expect(await home.containers()).not.toContain(id);
  });

  test.concurrent("explain names the writable /dev/shm of a read-only sandbox", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_READ_ONLY: "true" });
    await home.exec("echo x > /dev/shm/file");
    expect((await home.sandbox(["explain"])).stdout).toMatch(/^writable: .*\/dev\/shm \(memory\)/m);
  });

  test.concurrent("more CPUs than the machine has are a notice", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_CONTAINER_CPU: "1000" });
    const first = await home.exec("true");
    expect(first.stderr).toMatch(/terminal\.container_cpu is 1000, but .* has only \d+ CPUs/);
  });

  test.concurrent("a hang-up in opt-out mode prints nothing about abandoned sandboxes", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "false" });
    const user = home.start(["exec", "--", "echo up; sleep 600"]);
    await user.printed("up");
    process.kill(user.pid, "SIGHUP");
    const { exitCode, stderr } = await user.ended;
    expect({ exitCode, stderr }).toEqual({
      exitCode: 129,
      stderr: expect.not.stringContaining("were not reclaimed"),
    });
  });
});

describeWith("docker", "a sandbox that cannot be started or must be replaced", (service) => {
  test.concurrent("C11: is an error that names the reason, and keeps its files until the cause is fixed", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("echo kept > /opt/mark");
    const [id] = await home.containers();
    await home.sandbox(["stop"]);
    const [before, after] = [home.path, `${home.path}-moved`];
    await rename(before, after); // its folders are mounted from the old path
    const refused = await home.exec("cat /opt/mark", { env: { HERMES_HOME: after } });
    await rm(before, { recursive: true, force: true });
    await rename(after, before);
    expect(refused).toMatchObject({ exitCode: 125, stdout: "" });
    expect(refused.stderr).toMatch(/cannot be started: [\s\S]*hermes sandbox (snapshot|restore|rm)/);
    expect(await home.containers()).toEqual([id]);
    expect(await home.exec("cat /opt/mark")).toMatchObject({ exitCode: 0, stdout: "kept\n", stderr: "" });
  });

  test.concurrent("C11: a port that is temporarily in use loses no files, and a snapshot is possible meanwhile", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_NETWORK: "on" });
    const holder = createServer();
    const listen = (port: number) =>
      new Promise<void>((resolve, reject) => {
        holder.once("error", reject).listen(port, "127.0.0.1", resolve);
      });
    await listen(0);
    const { port } = holder.address() as AddressInfo;
    await new Promise((resolve) => holder.close(resolve));
    const env = { TERMINAL_DOCKER_EXTRA_ARGS: JSON.stringify(["-p", `127.0.0.1:${port}:80`]) };
    expect(await home.exec("echo kept > /opt/mark", { env })).toMatchObject({ exitCode: 0 });
    await home.sandbox(["stop"], { env });
    await listen(port);
    const refused = await home.exec("cat /opt/mark", { env });
    expect(refused).toMatchObject({ exitCode: 125, stdout: "" });
    expect(refused.stderr).toContain("cannot be started");
    const { id } = (await home.sandbox(["snapshot", "--json"], { env })).json<Row>();
    await new Promise((resolve) => holder.close(resolve));
    expect(await home.exec("cat /opt/mark", { env })).toMatchObject({ exitCode: 0, stdout: "kept\n" });
    await home.exec("rm /opt/mark", { env });
    expect(await home.sandbox(["restore", id, "--yes"])).toMatchObject({ exitCode: 0 });
    expect(await home.exec("cat /opt/mark")).toMatchObject({ exitCode: 0, stdout: "kept\n" });
  });

  test.concurrent("C16, C53: a replaced sandbox is saved as a snapshot that the notice names", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("echo kept > /opt/mark");
    const env = { TERMINAL_DOCKER_ON_DRIFT: "replace", TERMINAL_CONTAINER_MEMORY: "300" };
    const replaced = await home.exec("cat /opt/mark", { env });
    expect(replaced).toMatchObject({ exitCode: 1, stdout: "" });
    const [, snapshot = ""] = /hermes sandbox restore (\S+?)`/.exec(replaced.stderr) ?? [];
    expect(replaced.stderr).toContain("was replaced");
    expect(await home.sandbox(["restore", snapshot, "--yes"], { env })).toMatchObject({ exitCode: 0 });
    expect(await home.exec("cat /opt/mark", { env })).toMatchObject({ exitCode: 0, stdout: "kept\n" });
  });
});

describeWith("docker", "a command that was killed in the middle", (service) => {
  const order = async (home: SandboxHome) => {
    const sandboxes = join(home.path, "sandboxes");
    const left = await inspectProfile(home, { sandboxes, profileId: (await home.profileId()) ?? "" });
    expectConsistent(left);
    return left;
  };
  /** Runs a command that is killed at a call of the engine. */
  const die = async (
    home: SandboxHome,
    args: readonly string[],
    moment: { readonly at: string; readonly when: "before" | "after" },
    env: Readonly<Record<string, string>> = {},
  ) => {
    const client = await writeKillingClient(home, service.client, moment);
    const end = await home.start(args, { env: { ...env, HERMES_DOCKER_BINARY: client } }).ended;
    expect(end.exitCode, end.stderr).toBeNull();
  };
  const read = "cat /etc/mark /workspace/mark";

  test.concurrent.each([
    ["the old one was moved aside", { at: "rename*.aside-*", when: "after" }, "exec", "new"],
    ["the new one is to be created", { at: "create*", when: "before" }, "status", "new"],
    ["the new one was started", { at: "start*", when: "after" }, "list", "new"],
    ["the new one got its name", { at: "rename*hermes-default-????????????", when: "after" }, "exec", "old"],
    ["the old one is to be removed", { at: "rm*", when: "before" }, "gc", "old"],
  ] as const)(
    "restore, when %s: one complete sandbox exists, and $2 reports it",
    async (_, moment, verb, word) => {
      await using home = await openSandboxHome(service);
      await home.exec("echo old > /etc/mark; echo old > /workspace/mark");
      await home.sandbox(["snapshot", "--name", "kept"]);
      await home.exec("echo new > /etc/mark; echo new > /workspace/mark");
      await die(home, ["restore", "kept", "--yes"], moment);
      const next = await home.sandbox(verb === "exec" ? ["exec", "--", "true"] : [verb]);
      expect(next).toMatchObject({ exitCode: 0 });
      expect(next.stderr + next.stdout).toContain(word === "old" ? "is complete now" : "was rolled back");
      expect(await home.exec(read)).toMatchObject({ stdout: `${word}\n${word}\n` });
      expect((await order(home)).containers).toHaveLength(1);
    },
  );

  test.concurrent.each([
    ["the old one was moved aside", { at: "rename*.aside-*", when: "after" }, "kept\n"],
    ["the new one was only created", { at: "create*", when: "after" }, "kept\n"],
    ["the new one was started", { at: "start*", when: "after" }, ""],
  ] as const)("replace, killed when %s: the task has one working sandbox", async (_, moment, kept) => {
    await using home = await openSandboxHome(service);
    await home.exec("echo kept > /etc/mark; echo kept > /workspace/mark");
    const changed = { TERMINAL_DOCKER_ON_DRIFT: "replace", TERMINAL_CONTAINER_MEMORY: "300" };
    await die(home, ["exec", "--", "true"], moment, changed);
    const next = await home.exec("cat /etc/mark 2>/dev/null; cat /workspace/mark");
    expect(next).toMatchObject({ exitCode: 0, stdout: `${kept}kept\n` });
    expect(next.stderr).toMatch(/Replacing .* was interrupted/);
    expect((await order(home)).containers).toHaveLength(1);
  });

  test.concurrent("after a killed fork, the next command restores earlier files of the task", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("true");
    const earlier = ["exec", "--task", "copy", "--"];
    await home.sandbox([...earlier, "echo earlier > /workspace/mark"]);
    await home.sandbox(["rm", "--task", "copy"]);
    await die(home, ["fork", "copy"], { at: "start*", when: "before" });
    const next = await home.sandbox([...earlier, "cat /workspace/mark"]);
    expect(next).toMatchObject({ exitCode: 0, stdout: "earlier\n" });
    expect(next.stderr).toContain("was rolled back");
    expect((await order(home)).containers).toHaveLength(2);
  });

  test.concurrent("while another process restores, status reports it and a command waits for it", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("echo old > /etc/mark");
    await home.sandbox(["snapshot", "--name", "kept"]);
    await home.exec("echo new > /etc/mark");
    const gate = join(home.folder, "gate");
    const client = join(home.folder, "docker");
    const wait = `case "$1" in create) until [ -e ${gate} ]; do sleep 0.1; done;; esac`;
    await writeFile(client, `#!/bin/sh\n${wait}\nexec ${service.client} "$@"\n`, { mode: 0o755 });
    const restore = home.start(["restore", "kept", "--yes"], { env: { HERMES_DOCKER_BINARY: client } });
    await vi.waitFor(async () => {
      const { under_way: inProgress } = (await home.sandbox(["status", "--json"])).json<{
        under_way: unknown[];
      }>();
      expect(inProgress).toEqual([{ kind: "restore", by: `process ${restore.pid} works on it` }]);
    }, soon);
    await vi.waitFor(async () => {
      expect((await home.sandbox(["status"])).stdout).toMatch(
        /under way {2}restore:[\s\S]*does not exist now/,
      );
    }, soon);
    const command = home.start(["exec", "--", "cat /etc/mark"]);
    await writeFile(gate, "");
    expect(await restore.ended).toMatchObject({ exitCode: 0 });
    expect(await command.ended).toMatchObject({ exitCode: 0, stdout: "old\n" });
    expect((await order(home)).containers).toHaveLength(1);
  });
});
