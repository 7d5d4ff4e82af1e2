import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { never, openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";
import { findUse, listSandboxProcesses, parseTop } from "./sandbox-processes.ts";

describe("parseTop", () => {
  const roles = (rows: readonly string[]) =>
    parseTop(["PID PPID STAT COMMAND", ...rows].join("\n")).map(({ role }) => role);

  it("knows init, keeper and the keeper's sleep", () => {
    const rows = [
      "100   50  Ss  /sbin/docker-init -- sh -c trap loop hermes-keeper",
      "101  100  S   sh -c trap loop hermes-keeper",
      "102  101  S   sleep 86400",
      "103  100  S   sleep 86400",
    ];
    expect(roles(rows)).toEqual(["keeper", "keeper", "keeper", "other"]);
  });

  it("knows a channel by its mark and by having its parent outside", () => {
    const keeper = "100 50 Ss sh -c loop hermes-keeper";
    expect(roles([keeper, "200 50 Ss sh -c text hermes-channel"])).toEqual(["keeper", "channel"]);
    // What a channel left behind belongs to the container now and holds nothing.
    expect(roles([keeper, "200 100 S sh -c text hermes-channel"])).toEqual(["keeper", "other"]);
    expect(roles([keeper, "200 50 Ss cat /notes-hermes-channel.txt"])).toEqual(["keeper", "other"]);
  });

  it("knows the job of a process by the name of its folder", () => {
    const rows = [
      "200 100 Ss sh -c text hermes-job /tmp/hermes-jobs-0/proc_0123456789ab bash none 0022",
      "201 200 S  sh -c text hermes-job /my files/hermes-jobs-0/proc_0123456789ab",
      "202 200 Ss bash -c text hermes-job /dev/null 0022",
      "203 202 S  ls /tmp/hermes-jobs-0/proc_0123456789ab",
    ];
    const id = "proc_0123456789ab";
    expect(parseTop(rows.join("\n")).map(({ job }) => job)).toEqual([id, id, undefined, undefined]);
  });

  it("F17: does not count the dead", () => {
    expect(roles(["200 50 Zs sh -c text hermes-channel", "201 50 Z+ [sh] <defunct>"])).toEqual([]);
  });
});

describeWith("docker", "a lease on a sandbox", (service) => {
  it("is held as long as a channel's client lives, and vanishes when that is killed", {
    timeout: 600_000,
  }, async () => {
    await using lab = await openDockerLab(service);
    const { id } = await ensureSandbox(lab.engine, await lab.spec(), lab.reporter, never);
    const isHeld = async () => (await findUse(lab.engine, id, never)).isHeld;
    expect(await isHeld()).toBe(false);
    expect((await listSandboxProcesses(lab.engine, id, never))?.map(({ role }) => role)).toEqual([
      "keeper",
      "keeper",
      "keeper",
    ]);

    const { binary, env } = lab.engine;
    // As long and with as many lines as the text of a real channel.
    const text = `${"# a line of the channel's program\n".repeat(300)}read line; exit 0`;
    const client = spawn(binary, ["exec", "-i", id, "sh", "-c", text, "hermes-channel"], { env: { ...env } });
    try {
      await vi.waitUntil(isHeld, { timeout: 150_000, interval: 100 });
    } finally {
      client.kill("SIGKILL");
      await once(client, "exit");
    }
    await vi.waitUntil(async () => !(await isHeld()), {
      timeout: 150_000,
      interval: 100,
    });
  });

  it("counts as held when the engine cannot tell", async () => {
    await using lab = await openDockerLab(service);
    expect(await findUse(lab.engine, "0".repeat(64), never)).toEqual({ isHeld: true, jobs: [] });
  });
});
