import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { ensureSandbox } from "../lifecycle/ensure-sandbox.ts";
import { findUse, listSandboxProcesses, parseTop } from "./sandbox-processes.ts";

describe("parseTop", () => {
  const roles = (rows: readonly string[]) =>
    parseTop(["PID PPID STAT ELAPSED COMMAND", ...rows].join("\n")).map(({ role }) => role);

  it("recognises init, keeper and the keeper's sleep", () => {
    const rows = [
      "100   50  Ss  0:01 /sbin/docker-init -- sh -c trap loop hermes-keeper",
      "101  100  S   0:01 sh -c trap loop hermes-keeper",
      "102  101  S   0:01 sleep 86400",
      "103  100  S   0:01 sleep 86400",
    ];
    expect(roles(rows)).toEqual(["keeper", "keeper", "keeper", "other"]);
  });

  it("recognises a channel by its mark and by its parent outside of the container", () => {
    const keeper = "100 50 Ss 0:01 sh -c loop hermes-keeper";
    expect(roles([keeper, "200 50 Ss 0:01 sh -c text hermes-channel"])).toEqual(["keeper", "channel"]);
    // An orphaned child of a channel belongs to the container and does not hold the sandbox.
    expect(roles([keeper, "200 100 S 0:01 sh -c text hermes-channel"])).toEqual(["keeper", "other"]);
    expect(roles([keeper, "200 50 Ss 0:01 cat /notes-hermes-channel.txt"])).toEqual(["keeper", "other"]);
  });

  it("finds the job of a process by the name of its folder", () => {
    const rows = [
      "200 100 Ss 0:01 sh -c text hermes-job /tmp/hermes-jobs-0/proc_0123456789ab bash none 0022",
      "201 200 S  0:01 sh -c text hermes-job /my files/hermes-jobs-0/proc_0123456789ab",
      "202 200 Ss 0:01 bash -c text hermes-job /dev/null 0022",
      "203 202 S  0:01 ls /tmp/hermes-jobs-0/proc_0123456789ab",
    ];
    const id = "proc_0123456789ab";
    expect(parseTop(rows.join("\n")).map(({ job }) => job)).toEqual([id, id, undefined, undefined]);
  });

  it("parses the start time of each process", () => {
    const started = (age: string) => parseTop(`200 100 S ${age} sh`, 1e12)[0]?.startedAt;
    expect(["0:07", "61:01", "02:00:00", "3-00:00:01"].map(started)).toEqual(
      [7, 3_661, 7_200, 259_201].map((seconds) => 1e12 - seconds * 1_000),
    );
  });

  it("F17: ignores zombie processes", () => {
    expect(roles(["200 50 Zs 0:01 sh -c text hermes-channel", "201 50 Z+ 0:01 [sh] <defunct>"])).toEqual([]);
  });
});

describeWith("docker", "a lease on a sandbox", (service) => {
  it("is held while a channel's client runs, and ends when the client is killed", {
    timeout: 600_000,
  }, async () => {
    await using lab = await openDockerLab(service);
    const { id } = await ensureSandbox(lab.engine, await lab.spec(), lab.reporter, neverAborted);
    const isHeld = async () => (await findUse(lab.engine, id, neverAborted)).isHeld;
    expect(await isHeld()).toBe(false);
    expect((await listSandboxProcesses(lab.engine, id, neverAborted))?.map(({ role }) => role)).toEqual([
      "keeper",
      "keeper",
      "keeper",
    ]);

    const { binary, env } = lab.engine;
    // As long as the program of a real channel.
    const text = `${"# a line of the channel's program\n".repeat(300)}read line; exit 0`;
    const client = spawn(binary, ["exec", "-i", id, "sh", "-c", text, "hermes-channel", "4711"], {
      env: { ...env },
    });
    try {
      await vi.waitUntil(isHeld, { timeout: 150_000, interval: 100 });
      const { holders } = await findUse(lab.engine, id, neverAborted);
      expect(holders).toEqual([{ pid: 4711, since: expect.any(Number) }]);
    } finally {
      client.kill("SIGKILL");
      await once(client, "exit");
    }
    await vi.waitUntil(async () => !(await isHeld()), {
      timeout: 150_000,
      interval: 100,
    });
  });

  it("counts as held when the engine does not answer", async () => {
    await using lab = await openDockerLab(service);
    expect(await findUse(lab.engine, "0".repeat(64), neverAborted)).toEqual({
      isHeld: true,
      holders: [],
      jobs: [],
    });
  });
});
