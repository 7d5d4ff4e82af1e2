import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { logParts, runLogPath } from "../../src/board/supervisor/log/run-log.ts";
import { findRunGroups } from "../../src/board/supervisor/run-cgroup.ts";
import { boardMark } from "../../src/board/worker/run-mark.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { mayCreateCgroup } from "../support/cgroup.ts";
import { scale } from "../support/scale.ts";
import { mayMount } from "../support/small-disk.ts";
import { eventually, openWorkerLab, PROGRAM, SHORT_LEASE_MS } from "../support/worker-lab.ts";

const run = promisify(execFile);
const LONG = 600_000;

type Lab = Awaited<ReturnType<typeof openWorkerLab>>;

async function hermes(lab: Lab, ...args: readonly string[]): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: lab.folder.path, HERMES_HOME: lab.root };
  return (await run(PROGRAM[0], [PROGRAM[1], ...args], { env })).stdout;
}

const canMount = await mayMount();

const canCreateCgroup = await mayCreateCgroup();

/** The command lines of all processes. */
async function commandLines(): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => ""));
  return (await Promise.all(lines)).map((line) => line.split("\0").join(" ").trim());
}

describe("a worker that misbehaves affects only its own run, with one visible outcome:", () => {
  const cases = [
    { what: "it exits 0 without a result", script: "exit 0", outcome: "protocol_violation", failures: 1 },
    {
      what: "it ignores TERM after its maximum run time",
      script: "trap '' TERM; while :; do sleep 0.1; done",
      maxRuntimeSeconds: 2,
      outcome: "timed_out",
      failures: 1,
    },
    {
      what: "it leaves processes in other sessions behind",
      script: "setsid sleep 300 & setsid bash -c 'setsid sleep 300 & sleep 300' & exit 7",
      outcome: "crashed",
      failures: 1,
    },
    { what: "it ends its own group", script: "kill -9 0", outcome: "crashed", failures: 1 },
    { what: "it receives TERM", script: "kill -TERM $$", outcome: "infra_killed", failures: 0 },
  ];
  for (const { what, script, maxRuntimeSeconds, outcome, failures } of cases) {
    test(
      `${what}: ${outcome}`,
      async () => {
        await using lab = await openWorkerLab();
        await lab.addProfile("coder", {});
        const details = maxRuntimeSeconds === undefined ? {} : { maxRuntimeSeconds };
        const claimed = await lab.claim((await lab.add(what, details)).id);
        await lab.superviseScript(claimed, script);
        expect(await lab.ended(claimed)).toMatchObject({ outcome });
        const { task, events } = await lab.store.show(claimed.task.id, neverAborted);
        expect(task).toMatchObject({ status: "ready", consecutive_failures: failures });
        expect(events.filter(({ kind }) => kind === outcome)).toHaveLength(1);
        const { id } = task;
        expect(await hermes(lab, "kanban", "why", id)).toMatch(/^It waits until .+\n.*unguard/m);
        expect(await hermes(lab, "kanban", "runs", id, "--json")).toContain(outcome);
      },
      LONG,
    );
  }

  test.skipIf(!canCreateCgroup)(
    `it leaves a process that forked twice, in its own session and with an empty environment: nothing survives the run${canCreateCgroup ? "" : " [skipped: may not create a cgroup]"}`,
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("runaway")).id);
      const forever = `sleep ${4_000_000 + process.pid}`;
      const { cwd } = await lab.superviseScript(
        claimed,
        `(setsid env -i ${forever} &); until [ -e go ]; do sleep 0.05; done; exit 7`,
      );
      await eventually(async () => (await commandLines()).includes(forever));
      await writeFile(join(cwd, "go"), "");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "crashed" });
      expect(await commandLines()).not.toContain(forever);
      expect(await findRunGroups(boardMark(lab.store.identity))).toEqual([]);
    },
    LONG,
  );

  test(
    "it prints a huge amount: the log stays bounded, the supervisor stays small, and the end of the output is kept",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("chatter")).id);
      const script = `head -c ${scale.streamBytes} /dev/zero | tr '\\0' x; echo; echo the end; exit 5`;
      const { supervisorPid } = await lab.superviseScript(claimed, script);
      let largest = 0;
      await eventually(async () => {
        const status = await readFile(`/proc/${supervisorPid}/status`, "utf8").catch(() => "");
        largest = Math.max(largest, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
        return (await lab.findRun(claimed.run.id)).ended_at !== null;
      }, LONG);
      expect(await lab.ended(claimed)).toMatchObject({ error: expect.stringMatching(/the end$/) });
      expect(largest / 1024).toBeLessThan(400); // megabytes
      const parts = logParts(runLogPath(lab.root, "default", claimed.task.id, claimed.run.id));
      const sizes = await Promise.all(parts.map(async (part) => (await stat(part)).size));
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(2 * 64 * 1024);
    },
    LONG,
  );

  test.skipIf(!canMount)(
    `it fills the disk that holds board and log: its run ends once there is free space, and the next task works${canMount ? "" : " [skipped: may not mount]"}`,
    async () => {
      const leaseMs = scale.fullDiskLeaseMs;
      await using lab = await openWorkerLab({ diskBytes: 8 * 1024 * 1024, leaseMs });
      const claimed = await lab.claim((await lab.add("greedy")).id);
      const fill = join(lab.root, "fill");
      // Waits until its supervisor has recorded itself, then writes in ever smaller pieces until no block is free.
      const script = `until [ -e started ]; do sleep 0.05; done
        for size in 1M 4k 1; do dd if=/dev/zero bs=$size of=${fill} oflag=append conv=notrunc 2>/dev/null; done
        echo no room
        setsid bash -c 'touch filled; sleep 300' & until [ -e filled ]; do sleep 0.05; done; exit 9`;
      const { cwd } = await lab.superviseScript(claimed, script);
      await writeFile(join(cwd, "started"), "");
      await eventually(() =>
        stat(join(cwd, "filled")).then(
          () => true,
          () => false,
        ),
      );
      // The supervisor checks the disk before it ends the remaining process.
      await eventually(async () => (await lab.processesOf(claimed)).length === 0);
      const { lease_until: until } = await lab.findRun(claimed.run.id);
      if (leaseMs <= SHORT_LEASE_MS) await eventually(() => Date.now() > until + 3_000); // the supervisor still waits for free space
      await rm(fill);
      expect(await lab.ended(claimed)).toMatchObject({
        outcome: "crashed",
        error: expect.stringMatching(
          /^the disk with \S+home is full, and the worker ended with code 9[\s\S]*no room/,
        ),
      });
      await lab.addProfile("coder", {
        answers: [{ tools: [{ name: "kanban_complete", input: { summary: "done" } }] }],
      });
      // The same for the disk of its profile only, where the agent itself needs space for its session.
      const profile = join(lab.root, "profiles", "small");
      await mkdir(profile, { recursive: true });
      await run("mount", ["-t", "tmpfs", "-o", "size=300k,mode=700", "tmpfs", profile]);
      try {
        await lab.addProfile("small", { answers: [{ text: "hello" }] });
        const small = await lab.claim((await lab.add("no room", { assignee: "small" })).id);
        expect(await lab.host.start(small, neverAborted)).toMatchObject({ kind: "started" });
        expect(await lab.ended(small)).toMatchObject({
          error: expect.stringMatching(
            /^the disk with \S+profiles\/small is full, and the worker could not use its/,
          ),
        });
        expect(await hermes(lab, "kanban", "why", small.task.id)).toMatch(
          /because of the host \(the disk with \S+ is full/,
        );
        await eventually(async () => (await lab.supervisorsOf(small)).length === 0);
        // The same where git has no space for a worktree.
        await run("find", [profile, "-mindepth", "1", "-delete"]);
        const author = ["-c", "user.name=a", "-c", "user.email=a@b"];
        await run("git", ["init", "--quiet", "--template=", profile]);
        await run("git", ["-C", profile, ...author, "commit", "--quiet", "--allow-empty", "--message=first"]);
        await run("sh", ["-c", `cat /dev/zero > ${join(profile, "fill")} || true`]);
        const task = await lab.add("no worktree", { workspaceKind: "worktree", workspacePath: profile });
        expect(await lab.host.start(await lab.claim(task.id), neverAborted)).toMatchObject({
          cause: "infrastructure",
          error: expect.stringMatching(/^the disk with \S+small is full: ./),
        });
      } finally {
        await run("umount", ["-l", profile]);
      }
      const next = await lab.claim((await lab.add("modest")).id);
      expect(await lab.host.start(next, neverAborted)).toMatchObject({ kind: "started" });
      expect(await lab.ended(next)).toMatchObject({ outcome: "completed" });
    },
    LONG,
  );
});

test(
  "a supervisor that is suspended past its lease never causes two live runs: the next start ends the rest of the old run",
  async () => {
    await using lab = await openWorkerLab();
    await lab.addProfile("coder", {
      answers: [{ tools: [{ name: "kanban_complete", input: { summary: "done" } }] }],
    });
    const claimed = await lab.claim((await lab.add("frozen")).id);
    const { supervisorPid } = await lab.superviseScript(
      claimed,
      "setsid bash -c 'while :; do sleep 0.1; done' & while :; do sleep 0.1; done",
    );
    process.kill(supervisorPid, "SIGSTOP");
    lab.expireLease(claimed);
    expect(await lab.system.reclaimExpired(claimed.run.id, 0, neverAborted)).toBe(true);
    // A real worker would notice, from the pipe to its supervisor, that its lease is not renewed, and stop; this script does
    // not, so its processes are still running.
    await eventually(async () => (await lab.processesOf(claimed)).length > 0);
    const next = await lab.claim(claimed.task.id);
    expect(await lab.host.start(next, neverAborted)).toMatchObject({ kind: "started" });
    expect(await lab.processesOf(claimed)).toEqual([]);
    process.kill(supervisorPid, "SIGCONT");
    expect(await lab.ended(next)).toMatchObject({ outcome: "completed" });
    await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
    expect(await lab.findRun(claimed.run.id)).toMatchObject({ outcome: "reclaimed" });
    const { runs } = await lab.store.show(claimed.task.id, neverAborted);
    expect(runs.map(({ outcome }) => outcome)).toEqual(["reclaimed", "completed"]);
  },
  LONG,
);
