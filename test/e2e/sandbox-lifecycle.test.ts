import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { expectOrder, look, writeDeadlyClient } from "../support/sandbox-order.ts";
import { describeWith } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 }); // each starts the program many times

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

  test.concurrent("is removed after that with a notice, by whoever starts next", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_STOPPED_TTL_SECONDS: "1" });
    await home.exec("true");
    await home.sandbox(["stop"]);
    await vi.waitFor(async () => {
      await rm(join(home.path, "sandboxes/.last-reclaim"), { force: true }); // else it looks every ten minutes
      const { stderr } = await home.sandbox(["exec", "--task", "other", "--", "true"]);
      expect(stderr).toMatch(/was removed: .*kept until .* UTC \(terminal\.docker_stopped_ttl_seconds\)/);
    }, soon);
    expect(await home.containers()).toHaveLength(1);
    expect((await home.sandbox(["status"])).stdout).toContain("does not exist yet");
  });
});

describeWith("docker", "a command that was killed in the middle", (service) => {
  const order = async (home: SandboxHome) => {
    const sandboxes = join(home.path, "sandboxes");
    const left = await look(home, { sandboxes, profileId: (await home.profileId()) ?? "" });
    expectOrder(left);
    return left;
  };
  /** Runs a command that dies at a call of the engine. */
  const die = async (
    home: SandboxHome,
    args: readonly string[],
    moment: { readonly at: string; readonly when: "before" | "after" },
    env: Readonly<Record<string, string>> = {},
  ) => {
    const client = await writeDeadlyClient(home, service.client, moment);
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
    "restore, when %s: there is one whole sandbox, and $2 says so",
    async (_, moment, verb, word) => {
      await using home = await openSandboxHome(service);
      await home.exec("echo old > /etc/mark; echo old > /workspace/mark");
      await home.sandbox(["snapshot", "--name", "kept"]);
      await home.exec("echo new > /etc/mark; echo new > /workspace/mark");
      await die(home, ["restore", "kept", "--yes"], moment);
      const next = await home.sandbox(verb === "exec" ? ["exec", "--", "true"] : [verb]);
      expect(next).toMatchObject({ exitCode: 0 });
      expect(next.stderr + next.stdout).toContain(word === "old" ? "is complete now" : "was taken back");
      expect(await home.exec(read)).toMatchObject({ stdout: `${word}\n${word}\n` });
      expect((await order(home)).containers).toHaveLength(1);
    },
  );

  test.concurrent.each([
    ["the old one was moved aside", { at: "rename*.aside-*", when: "after" }, "kept\n"],
    ["the new one was only created", { at: "create*", when: "after" }, "kept\n"],
    ["the new one was started", { at: "start*", when: "after" }, ""],
  ] as const)("replace, killed when %s: the task has one sandbox that works", async (_, moment, kept) => {
    await using home = await openSandboxHome(service);
    await home.exec("echo kept > /etc/mark; echo kept > /workspace/mark");
    const changed = { TERMINAL_DOCKER_ON_DRIFT: "replace", TERMINAL_CONTAINER_MEMORY: "300" };
    await die(home, ["exec", "--", "true"], moment, changed);
    const next = await home.exec("cat /etc/mark 2>/dev/null; cat /workspace/mark");
    expect(next).toMatchObject({ exitCode: 0, stdout: `${kept}kept\n` });
    expect(next.stderr).toMatch(/Replacing .* was interrupted/);
    expect((await order(home)).containers).toHaveLength(1);
  });

  test.concurrent("a fork that gave way to earlier files of the task puts them back", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("true");
    const earlier = ["exec", "--task", "copy", "--"];
    await home.sandbox([...earlier, "echo earlier > /workspace/mark"]);
    await home.sandbox(["rm", "--task", "copy"]);
    await die(home, ["fork", "copy"], { at: "start*", when: "before" });
    const next = await home.sandbox([...earlier, "cat /workspace/mark"]);
    expect(next).toMatchObject({ exitCode: 0, stdout: "earlier\n" });
    expect(next.stderr).toContain("was taken back");
    expect((await order(home)).containers).toHaveLength(2);
  });

  test.concurrent("while another process restores, status says so and a command waits for it", async () => {
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
      const { under_way } = (await home.sandbox(["status", "--json"])).json<{ under_way: unknown[] }>();
      expect(under_way).toEqual([{ kind: "restore", by: `process ${restore.pid} works on it` }]);
    }, soon);
    await vi.waitFor(async () => {
      expect((await home.sandbox(["status"])).stdout).toMatch(/under way {2}restore:[\s\S]*is not there now/);
    }, soon);
    const command = home.start(["exec", "--", "cat /etc/mark"]);
    await writeFile(gate, "");
    expect(await restore.ended).toMatchObject({ exitCode: 0 });
    expect(await command.ended).toMatchObject({ exitCode: 0, stdout: "old\n" });
    expect((await order(home)).containers).toHaveLength(1);
  });
});
