import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { createEngine } from "../../src/environments/docker/engine/engine.ts";
import { reclaimSandboxes } from "../../src/environments/docker/reclaim/reclaim.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { startChild } from "../support/child.ts";
import { openDockerLab } from "../support/docker.ts";
import { longEnough } from "../support/long-enough.ts";
import type { HoldInput } from "../support/sandbox-child.ts";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { scale } from "../support/scale.ts";
import { describeWith, loadPart, type RunningPart } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 }); // each test starts the program many times

const soon = { timeout: 150_000, interval: 100 };
const SEED = 20_261_115;

describeWith("docker", "when the owner is killed", (service) => {
  test.concurrent("at random points of create, attach, exec and cleanup: one container remains, and nothing is orphaned", async () => {
    await using home = await openSandboxHome(service);
    const random = createRandom(SEED);
    for (let turn = 0; turn < scale.kills; turn++) {
      // Every fourth time no container exists, so that the process is killed while it creates one.
      if (turn % 4 === 0) await removeAll(home);
      const owner = home.start(["exec", "--", `sleep 54${turn + 10} | cat; echo survived`]);
      const timer = setTimeout(() => owner.kill(), 100 + random() * 900);
      const end = await owner.ended;
      clearTimeout(timer);
      expect(end.stdout, end.stderr).toBe("");
      expect(end.exitCode).toBeNull();
    }
    expect(await home.exec("echo true")).toMatchObject({ exitCode: 0, stdout: "true\n" });
    expect(await home.containers()).toHaveLength(1);
    await vi.waitFor(async () => expect(await home.processes()).not.toMatch(/sleep 54/), soon);
    await expectNothingOrphaned(service, home);
  }, 600_000);

  test.concurrent("processes of an earlier command keep running, and the running command ends", async () => {
    await using lab = await openDockerLab(service);
    const input: HoldInput = {
      binary: service.client,
      dockerHost: service.host,
      profileId: lab.profileId,
      folder: lab.folder,
      image: service.images.bash,
      commands: ["sleep 1000 & echo left", "true", "sleep 2000 & echo runs; sleep 2001"],
    };
    await using owner = startChild(new URL("../support/sandbox-child.ts", import.meta.url), "hold", input);
    expect(await owner.next()).toBe("left\n");
    expect(await owner.next()).toBe("runs\n");
    const { name } = await lab.spec({ docker_image: service.images.bash });
    await vi.waitFor(async () => expect(await lab.top(name)).toMatch(/sleep 1000[\s\S]*sleep 200/), soon);
    await owner.kill();
    await vi.waitFor(async () => expect(await lab.top(name)).not.toContain("sleep 200"), soon);
    expect(await lab.top(name)).toContain("sleep 1000");
    expect(await lab.containers()).toHaveLength(1);
  });

  test.concurrent("in opt-out mode: gc reclaims its container, and never one that is in use", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "no" });
    const [killed, living] = ["killed", "living"].map((word) =>
      home.start(["exec", "--", `echo ${word}; sleep 600`]),
    );
    await Promise.all([killed?.printed("killed"), living?.printed("living")]);
    expect(await home.containers()).toHaveLength(2);
    killed?.kill();
    await killed?.ended;
    await vi.waitFor(async () => {
      await reclaimEverything(service, home);
      expect(await runningContainers(home)).toHaveLength(1);
    }, soon);
    living?.kill();
    await living?.ended;
    await expectNothingOrphaned(service, home);
  }, 600_000);

  test.concurrent("many at once, half of them killed: the others get correct results, and one container exists", async () => {
    await using home = await openSandboxHome(service);
    const random = createRandom(SEED);
    const started = Array.from({ length: scale.processes }, (_, index) => ({
      index,
      run: home.start(["exec", "--", `echo ${index} of $(hostname)`]),
    }));
    const timers = started
      .filter(({ index }) => index % 2 === 1)
      .map(({ run }) => setTimeout(() => run.kill(), 200 + random() * 1_500));
    const ends = await Promise.all(started.map(({ run }) => run.ended));
    timers.forEach(clearTimeout);
    const [id = "", ...more] = await home.containers();
    expect(more).toEqual([]);
    for (const [index, end] of ends.entries()) {
      if (index % 2 === 1) continue;
      expect(end, end.stderr).toMatchObject({ exitCode: 0, stdout: `${index} of ${id.slice(0, 12)}\n` });
    }
  }, 600_000);
});

describeWith("docker", "in the middle of a command", (service) => {
  test.concurrent("F9: the container is removed: the command is reported as lost and not repeated, and the next one gets a new container", async () => {
    await using home = await openSandboxHome(service);
    const run = home.start(["exec", "--", "echo started; sleep 600"]);
    await run.printed("started");
    const [id = ""] = await home.containers();
    await home.docker("rm", "-f", id);
    const end = await run.ended;
    expect(end).toMatchObject({ exitCode: 125, stdout: "started\n" });
    expect(end.stderr).toMatch(/(?:removed|exited|dead).*not run again/);
    expect(await home.exec("echo next")).toMatchObject({ exitCode: 0, stdout: "next\n" });
    expect(await home.containers()).not.toContain(id);
    expect(await home.containers()).toHaveLength(1);
  });

  test.concurrent("the container is stopped: the command is reported as lost, and the next one starts the same container with its files", async () => {
    await using home = await openSandboxHome(service);
    const run = home.start(["exec", "--", "echo kept > /etc/kept; echo started; sleep 600"]);
    await run.printed("started");
    const [id = ""] = await home.containers();
    await home.docker("stop", id);
    const end = await run.ended;
    expect(end.exitCode).toBe(125);
    expect(end.stderr).toMatch(/the sandbox was stopped.*not run again/);
    expect(await home.exec("cat /etc/kept")).toMatchObject({ exitCode: 0, stdout: "kept\n" });
    expect(await home.containers()).toEqual([id]);
  });

  test.concurrent("the container is paused and resumed: the command continues, with all of its output", async () => {
    await using home = await openSandboxHome(service);
    // The command waits without forking: cgroup v1 cannot always freeze a group that keeps starting processes.
    const command =
      "mkfifo /tmp/go; for i in 1 2 3; do echo $i; done; read -r word < /tmp/go; echo 4; echo 5";
    const run = home.start(["exec", "--", command]);
    await run.printed("3");
    const [id = ""] = await home.containers();
    await home.docker("pause", id);
    expect(await home.sandbox(["list", "--json"])).toMatchObject({ exitCode: 0 });
    await home.docker("unpause", id);
    await home.docker("exec", id, "sh", "-c", "echo go > /tmp/go");
    expect(await run.ended).toMatchObject({ exitCode: 0, stdout: "1\n2\n3\n4\n5\n" });
  });

  test.concurrent.each([
    ["no input", undefined],
    ["piped input", ""],
  ])(
    "the container is paused until the timeout: the command is not reported as ended, and ends after the pause (%s)",
    async (_, stdin) => {
      await using home = await openSandboxHome(service);
      const { id, end } = await longEnough(
        [8, 60],
        async (seconds) => {
          const startedAt = performance.now();
          const run = home.start(["exec", "--timeout", `${seconds}`, "--", "echo started; sleep 601"], {
            stdin,
          });
          await run.printed("started").catch(() => undefined); // its timeout may come first
          const [id = ""] = await home.containers();
          await home.docker("pause", id);
          const isInTime = performance.now() - startedAt < seconds * 1_000;
          const end = await run.ended;
          if (!isInTime) await home.docker("unpause", id);
          return { id, end, isInTime };
        },
        ({ isInTime }) => isInTime,
      );
      expect(end.exitCode).toBe(124);
      expect(end.stderr).toMatch(/unknown whether/);
      await home.docker("unpause", id);
      await vi.waitFor(async () => expect(await home.processes()).not.toContain("sleep 601"), soon);
    },
  );

  test.concurrent("a paused container is resumed for the next command", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("true");
    const [id = ""] = await home.containers();
    await home.docker("pause", id);
    expect(await home.exec("echo awake")).toMatchObject({ exitCode: 0, stdout: "awake\n" });
    expect(await home.containers()).toEqual([id]);
  });

  test.concurrent("F3: a fork bomb fills the process limit: its timeout still ends it, and the next command runs", async () => {
    await using home = await openSandboxHome(service, { TERMINAL_DOCKER_PIDS_LIMIT: "64" });
    await home.exec("true");
    const [id = ""] = await home.containers();
    const end = await longEnough(
      [3, 20, 60],
      (seconds) =>
        home.sandbox(["exec", "--timeout", `${seconds}`, "--", "echo lit; while :; do sleep 777 & done"]),
      ({ stdout }) => stdout !== "",
    );
    expect(end.stdout).toBe("lit\n");
    expect(end.exitCode, end.stderr.slice(-500)).toBe(124);
    expect(await home.processes()).not.toContain("sleep 777");
    expect(await home.exec("echo fine")).toMatchObject({ exitCode: 0, stdout: "fine\n" });
    expect(await home.containers()).toEqual([id]);
  }, 600_000);

  test.concurrent("the disk for temporary files is full: the command reports it, and the next ones still run", async () => {
    await using home = await openSandboxHome(service);
    const full = await home.exec("cat /dev/zero > /tmp/fill; echo code $?; echo x > /tmp/more");
    expect(full).toMatchObject({ exitCode: 1, stdout: "code 1\n" });
    expect(full.stderr).toContain("No space left");
    expect(await home.exec("echo fine; cat <<< here | wc -c")).toMatchObject({ exitCode: 0 });
    expect(await home.exec("cat", { stdin: "still read\n" })).toMatchObject({
      exitCode: 0,
      stdout: "still read\n",
    });
    expect(await home.exec("rm /tmp/fill; echo x > /tmp/more && echo room")).toMatchObject({
      stdout: "room\n",
    });
  });

  test.concurrent("the engine is stopped and started again: the result is correct, and the same container is used afterwards", async () => {
    await using engine = await startSecondEngine();
    await using home = await openSandboxHome(engine.part);
    const run = home.start(["exec", "--", "echo kept > /etc/kept; echo started; sleep 600"]);
    await run.printed("started");
    const before = await home.containers();
    await engine.stop();
    const end = await run.ended;
    expect(end).toMatchObject({ exitCode: 125, stdout: "started\n" });
    expect(end.stderr).toMatch(/not run again/);
    const meanwhile = await home.exec("echo never");
    expect(meanwhile).toMatchObject({ exitCode: 125, stdout: "" });
    expect(meanwhile.stderr).toMatch(/cannot be reached/);
    await engine.start();
    expect(await home.exec("cat /etc/kept")).toMatchObject({ exitCode: 0, stdout: "kept\n" });
    expect(await home.containers()).toEqual(before);
  }, 600_000);
});

/** Reclaims as if a day had passed, so that every unused container is old enough. Twice, because the first pass only stops. */
async function reclaimEverything(service: RunningPart<"docker">, home: SandboxHome): Promise<void> {
  const engine = createEngine(service.client, { ...process.env, DOCKER_HOST: service.host });
  for (const days of [1, 2]) {
    const { rows, problem } = await reclaimSandboxes(
      engine,
      {
        profileId: await home.profileId(),
        stores: [],
        lifetimeSeconds: 0,
        stoppedTtlSeconds: 1,
        idleTtlSeconds: 1,
        maxAgeSeconds: 0,
        dryRun: false,
        now: Date.now() + days * 86_400_000,
      },
      neverAborted,
    );
    expect(problem).toBeUndefined();
    expect(rows.filter((row) => row.action === "failed")).toEqual([]);
  }
}

async function expectNothingOrphaned(service: RunningPart<"docker">, home: SandboxHome): Promise<void> {
  await vi.waitFor(async () => {
    await reclaimEverything(service, home);
    expect(await home.containers()).toEqual([]);
  }, soon);
}

async function runningContainers(home: SandboxHome): Promise<string[]> {
  const filter = `label=hermes-profile-id=${await home.profileId()}`;
  return (await home.docker("ps", "-q", "--filter", filter)).split("\n").filter((line) => line !== "");
}

async function removeAll(home: SandboxHome): Promise<void> {
  const ids = await home.containers();
  if (ids.length > 0) await home.docker("rm", "-f", "-v", ...ids);
}

/** Numbers between 0 and 1, the same ones in every run (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A separate engine that can be stopped and started with its data kept. */
async function startSecondEngine() {
  const script = fileURLToPath(new URL("../../scripts/test-services", import.meta.url));
  const folder = join(tmpdir(), `hermes-second-${randomBytes(4).toString("hex")}`);
  const env = { ...process.env, HERMES_TEST_SERVICES: folder };
  await promisify(execFile)(script, ["start", "docker"], { env });
  const part = loadPart("docker", folder);
  if (part.state !== "running") throw new Error(part.reason);
  const [program = "", ...args] = (await readFile(`/proc/${part.process.pid}/cmdline`, "utf8"))
    .split("\0")
    .slice(0, -1);
  let restarted: ReturnType<typeof spawn> | undefined;
  return {
    part,
    async stop() {
      process.kill(part.process.pid, "SIGTERM");
      await vi.waitFor(() => expect(() => process.kill(part.process.pid, 0)).toThrow(), soon);
    },
    async start() {
      restarted = spawn(program, args, { stdio: "ignore", detached: true });
      const options = { env: { ...process.env, DOCKER_HOST: part.host } };
      await vi.waitFor(() => promisify(execFile)(part.client, ["version"], options), soon);
    },
    async [Symbol.asyncDispose]() {
      if (restarted?.exitCode === null) {
        restarted.kill("SIGTERM");
        await once(restarted, "exit");
      }
      await promisify(execFile)(script, ["stop"], { env });
      await rm(folder, { recursive: true, force: true });
    },
  };
}
