import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startChild, startChildren } from "../../../test/support/child.ts";
import { type JobsTarget, openJobs, openJobsIn, openJobsTarget } from "../../../test/support/jobs-lab.ts";
import { sharedEnvironment } from "../../../test/support/shared-environment.ts";
import { shellRows } from "../../../test/support/shell-rows.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { collect } from "../environment.contract.ts";
import type { Environment } from "../environment.ts";
import type { JobStarted, StartJobOptions } from "./jobs.ts";
import { PART_BYTES } from "./output-programs.ts";

export interface JobsTraits {
  readonly name: string;
  readonly shell: "bash" | "sh";
  /** Whether another environment with the same shell and tools passes this contract too. */
  readonly hasTestedShell?: boolean;
  target(): Promise<JobsTarget>;
  /** The arguments of all processes of the environment, as seen from outside. */
  outsideView?(): Promise<string>;
}

const CHILD = new URL("../../../test/support/jobs-child.ts", import.meta.url);
const WAIT_MS = 150_000; // the limit for a hanging test

/** The contract of jobs in every environment. */
export function jobsContract(traits: JobsTraits): void {
  const { name, shell, target, outsideView } = traits;
  const it = shellRows(traits);
  describe(`${name} keeps the contract of jobs`, () => {
    let temp: Awaited<ReturnType<typeof tempFolder>>;
    let here: JobsTarget;
    beforeAll(async () => {
      temp = await tempFolder();
      here = await target();
    });
    afterAll(async () => {
      await temp[Symbol.asyncDispose]();
    });
    const openShared = sharedEnvironment(() => openJobsTarget(here));
    const open = async (path = temp.file(`${randomBytes(4).toString("hex")}.sqlite`)) => {
      const opened = await openJobsIn(await openShared(), path);
      const { jobs, environment } = opened;
      /** Starts a job and returns its record. */
      const startJob = async (command: string, options: Partial<StartJobOptions> = {}) => {
        const session = environment.openSession();
        const all = { session, owner: "a", lifetime: "session", ...options } as const;
        const started = await jobs.start(command, all, neverAborted);
        if (started.kind !== "started") throw new Error(started.message);
        return started.job;
      };
      return Object.assign(opened, { startJob });
    };

    test("D3: a job runs in the background, and its exit code, folder and complete output are known afterwards", async () => {
      await using opened = await open();
      const { jobs, startJob } = opened;
      const job = await startJob("echo out; echo err >&2; pwd; exit 3", { workdir: "/tmp" });
      expect(job).toMatchObject({ state: "running", cwd: "/tmp", reason: undefined });
      expect(job.id).toMatch(/^proc_[0-9a-f]{12}$/);
      const { kind, job: ended } = await jobs.wait(job.id, WAIT_MS, neverAborted);
      expect(kind).toBe("ended");
      expect(ended).toMatchObject({ state: "ended", reason: "exited", exitCode: 3 });
      const page = await jobs.log(job.id, {}, neverAborted);
      expect(page).toMatchObject({ text: "out\nerr\n/tmp\n", totalLines: 3, offset: 0, isCut: false });
    });

    test("F45: a failed start is reported, and no process is left running", async () => {
      await using opened = await open();
      const { jobs, environment } = opened;
      const options = {
        session: environment.openSession(),
        owner: "a",
        lifetime: "session",
        notify: true,
      } as const;
      const nowhere = await jobs.start("echo x", { ...options, workdir: "/no/such/folder" }, neverAborted);
      expect(nowhere).toEqual({ kind: "failed-start", message: "the folder does not exist" });
      // busybox finds its own tools without PATH
      const path = shell === "bash" ? { PATH: "/nonexistent" } : undefined;
      if (path) {
        const bare = await jobs.start("echo x", { ...options, variables: path }, neverAborted);
        expect(bare).toMatchObject({ kind: "failed-start", message: expect.stringContaining("127") });
      }
      expect(await jobs.takeCompletions("a", neverAborted)).toEqual([]);
      const listed = await jobs.list(neverAborted);
      expect(new Set(listed.map(({ state, reason }) => `${state} ${reason}`))).toEqual(
        new Set(["ended failed_start"]),
      );
    });

    it("the command gets the session's variables and does not change the session", async () => {
      await using opened = await open();
      const { jobs, environment, startJob } = opened;
      const session = environment.openSession();
      await collect(environment, "cd /tmp; export COLOUR='light \"blue\"'", {
        session,
      });
      const job = await startJob('echo "$COLOUR"; pwd', { session, workdir: "/", variables: { ONCE: "1" } });
      await jobs.wait(job.id, WAIT_MS, neverAborted);
      expect((await jobs.log(job.id, {}, neverAborted)).text).toBe('light "blue"\n/\n');
      expect((await collect(environment, 'pwd; echo "[$ONCE]"', { session })).stdout).toBe("/tmp\n[]\n");
    });

    test.runIf(shell === "bash")("the command gets the session's functions and aliases", async () => {
      await using opened = await open();
      const { jobs, environment, startJob } = opened;
      const session = environment.openSession();
      await collect(
        environment,
        "greet() { echo hello $1; }; printf() { echo broken; }; alias ll='echo listing'",
        { session },
      );
      const job = await startJob("greet you; ll", { session });
      await jobs.wait(job.id, WAIT_MS, neverAborted);
      expect((await jobs.log(job.id, {}, neverAborted)).text).toBe("hello you\nlisting\n");
    });

    test("a secret is in the job's variables, but in no argument, file or record", async () => {
      await using opened = await open();
      const { jobs, environment, database, startJob } = opened;
      const secret = `s-${randomBytes(8).toString("hex")}`;
      const job = await startJob('[ -n "$GIVEN" ] && echo given; : hunter2hunter2; sleep 600', {
        variables: { GIVEN: secret },
      });
      await waitUntil(async () => (await jobs.poll(job.id, neverAborted)).preview === "given\n");
      const search = [
        `case "$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ')" in *"$S"*) echo shown ;; *) echo hidden ;; esac`,
        `case "$(for f in ${job.folder}/*; do [ ! -f $f ] || cat $f; done)" in *"$S"*) echo shown ;; *) echo hidden ;; esac`,
        `ls -ld ${job.folder} | cut -c1-10`,
      ].join("\n");
      const found = await collect(environment, search, { variables: { S: secret } });
      expect(found.stdout).toBe("hidden\nhidden\ndrwx------\n");
      expect(database.prepare<{ command: string }>("select command from job").get()?.command).toContain(
        ": ***;",
      );
      await jobs.kill(job.id, neverAborted);
    });

    test("D3: input is written, submitted and closed; writing to a closed, ended or non-interactive job is reported", async () => {
      await using opened = await open();
      const { jobs, startJob } = opened;
      const job = await startJob('read a; read b; echo "$a|$b"; cat; echo end', { takesInput: true });
      expect(await jobs.write(job.id, "o", neverAborted)).toBe("written");
      expect(await jobs.submit(job.id, "ne", neverAborted)).toBe("written");
      expect(await jobs.submit(job.id, "two", neverAborted)).toBe("written");
      await waitUntil(async () => (await jobs.poll(job.id, neverAborted)).preview === "one|two\n");
      const large = "x".repeat(100_000);
      expect(await jobs.submit(job.id, large, neverAborted)).toBe("written");
      expect((await jobs.poll(job.id, neverAborted)).job.state).toBe("running");
      expect(await jobs.close(job.id, neverAborted)).toBe("written");
      expect(["closed", "ended"]).toContain(await jobs.submit(job.id, "late", neverAborted));
      expect((await jobs.wait(job.id, WAIT_MS, neverAborted)).job.exitCode).toBe(0);
      expect(await jobs.submit(job.id, "late", neverAborted)).toBe("ended");
      expect((await jobs.log(job.id, {}, neverAborted)).text).toBe(`one|two\n${large}\nend\n`);
      const withoutInput = await startJob("cat; sleep 600");
      expect(await jobs.submit(withoutInput.id, "x", neverAborted)).toBe("no-input");
      await jobs.kill(withoutInput.id, neverAborted);
    });

    it("a job that waits for input is running, and can be killed", async () => {
      await using opened = await open();
      const { jobs, environment, startJob } = opened;
      const job = await startJob("cat; echo never", { takesInput: true });
      const outcome = await jobs.wait(job.id, 300, neverAborted);
      expect(outcome).toMatchObject({ kind: "timed-out", job: { state: "running" } });
      expect(await jobs.kill(job.id, neverAborted)).toMatchObject({ kind: "killed", survivors: [] });
      expect(await processesOf(environment, job.id)).toBe("");
    });

    test("wait returns when its signal aborts, and the job continues", async () => {
      await using opened = await open();
      const { jobs, startJob } = opened;
      const job = await startJob("sleep 600");
      const outcome = await jobs.wait(job.id, WAIT_MS, AbortSignal.timeout(200));
      expect(outcome).toMatchObject({ kind: "interrupted", job: { state: "running" } });
      await jobs.kill(job.id, neverAborted);
    });

    test("F49: kill ends the whole tree, including processes that ignore TERM, fork away, or drop their variables", async () => {
      await using opened = await open();
      const { jobs, environment, startJob } = opened;
      const job = await startJob(
        [
          "trap '' TERM",
          "(while :; do sleep 0.1; done) &",
          "(setsid sh -c 'echo $$; while :; do sleep 0.1; done' &)", // its parent has exited, so only its mark identifies it
          "env -i PATH=\"$PATH\" sh -c 'echo $$; while :; do sleep 0.1; done' &",
          "while :; do sleep 0.1; done",
        ].join("\n"),
      );
      await waitUntil(async () => (await jobs.poll(job.id, neverAborted)).preview.split("\n").length === 3);
      const pids = (await jobs.poll(job.id, neverAborted)).preview.trim().split("\n");
      const outcome = await jobs.kill(job.id, neverAborted);
      expect(outcome).toMatchObject({ kind: "killed", survivors: [] });
      expect(outcome.job).toMatchObject({ state: "ended", reason: "killed", exitCode: -15 });
      expect(await processesOf(environment, job.id)).toBe("");
      const states = pids.map((pid) => `grep -s ^State /proc/${pid}/status`).join("; ");
      expect((await collect(environment, `{ ${states}; } | grep -v Z; true`)).stdout).toBe("");
      // Later observations do not change the record.
      expect((await jobs.list(neverAborted))[0]).toMatchObject({ reason: "killed", exitCode: -15 });
      expect(await jobs.kill(job.id, neverAborted)).toMatchObject({
        kind: "already-ended",
        job: { reason: "killed" },
      });
    });

    it("F49: a reused pid is not mistaken for the job and not signalled", async () => {
      await using opened = await open();
      const { jobs, database, startJob } = opened;
      const job = await startJob("sleep 600");
      const stranger = await startJob("sleep 600");
      const change = database.prepare(
        "update job set process = json_set(process, '$.pid', ?, '$.keeperPid', ?) where id = ?",
      );
      await database.write(
        () => change.run(stranger.process?.pid ?? 0, stranger.process?.pid ?? 0, job.id),
        neverAborted,
      );
      expect((await jobs.poll(job.id, neverAborted)).job).toMatchObject({
        state: "ended",
        reason: "lost",
        exitCode: -1,
      });
      expect((await jobs.kill(job.id, neverAborted)).kind).toBe("killed"); // found by its mark
      expect((await jobs.poll(stranger.id, neverAborted)).job.state).toBe("running");
      expect((await jobs.poll(job.id, neverAborted)).job.reason).toBe("lost");
      await jobs.kill(stranger.id, neverAborted);
    });

    it("a job that kills its own process group has an exit code; one whose keeper died too is lost", async () => {
      await using opened = await open();
      const { jobs, environment, startJob } = opened;
      const suicide = await startJob("kill -9 0");
      expect((await jobs.wait(suicide.id, WAIT_MS, neverAborted)).job).toMatchObject({
        reason: "exited",
        exitCode: 137,
      });
      const lost = await startJob("sleep 600");
      const machine = environment.outside ?? environment; // a sandbox numbers its processes differently
      await collect(machine, `kill -9 ${lost.process?.keeperPid}`);
      expect((await jobs.poll(lost.id, neverAborted)).job.state).toBe("running");
      await collect(machine, `kill -9 ${lost.process?.pid}`);
      expect((await jobs.wait(lost.id, WAIT_MS, neverAborted)).job).toMatchObject({
        reason: "lost",
        exitCode: -1,
      });
      await jobs.kill(lost.id, neverAborted); // its descendants are still running
    });

    it("a job that prints fast does not slow down others, and its log is read in pages", async () => {
      await using opened = await open();
      const { jobs, environment, startJob } = opened;
      const job = await startJob(
        "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i + 1)); done; printf partial",
      );
      expect((await collect(environment, "echo quick")).stdout).toBe("quick\n");
      expect((await jobs.poll(job.id, neverAborted)).preview.length).toBeLessThanOrEqual(1_000);
      await jobs.wait(job.id, WAIT_MS, neverAborted);
      const last = await jobs.log(job.id, {}, neverAborted);
      expect(last).toMatchObject({ totalLines: 20_001, offset: 19_801, droppedBytes: 0 });
      expect(last.text.startsWith("line 19801\n")).toBe(true);
      expect(last.text.endsWith("line 19999\npartial")).toBe(true);
      const head = await jobs.log(job.id, { offset: 0, limit: 2 }, neverAborted);
      expect(head).toMatchObject({ text: "line 0\nline 1\n", offset: 0, isCut: false });
      const all = await jobs.log(job.id, { offset: 0, limit: 100_000 }, neverAborted);
      expect(all.isCut).toBe(true);
      expect(all.text).toHaveLength(200_000);
      expect((await jobs.log(job.id, { offset: 30_000 }, neverAborted)).text).toBe("");
    });

    test("F46: process B lists, reads and kills a job whose starter, process A, was killed", async () => {
      const path = temp.file("restart.sqlite");
      const command = "echo first; while :; do echo more; sleep 0.1; done";
      await using child = startChild(CHILD, "start", { target: here, path, command });
      const started = await child.next<JobStarted>();
      if (started.kind !== "started") throw new Error(started.message);
      const { job } = started;
      await child.kill();
      await using opened = await open(path);
      const { jobs, environment } = opened;
      expect(await jobs.list(neverAborted)).toMatchObject([
        { id: job.id, state: "running", command, owner: "a" },
      ]);
      await waitUntil(async () => (await jobs.log(job.id, { offset: 0 }, neverAborted)).totalLines > 3);
      expect((await jobs.log(job.id, { offset: 0 }, neverAborted)).text).toMatch(/^first\nmore\nmore\n/);
      if (outsideView !== undefined) expect(await outsideView()).toContain("hermes-job");
      const prefix = job.id.slice("proc_".length, -4);
      expect(await jobs.kill(prefix, neverAborted)).toMatchObject({ kind: "killed", survivors: [] });
      expect(await processesOf(environment, job.id)).toBe("");
      if (outsideView !== undefined) expect(await outsideView()).not.toContain("hermes-job");
    });

    it("F50: exactly one of several processes gets the completion of a job, and only once", async () => {
      const path = temp.file("notify.sqlite");
      await using opened = await open(path);
      const { jobs, environment } = opened;
      const options = {
        session: environment.openSession(),
        owner: "a",
        lifetime: "turn",
        notify: true,
      } as const;
      const started = await jobs.start("exit 4", options, neverAborted);
      if (started.kind !== "started") throw new Error(started.message);
      await waitUntil(async () => (await jobs.poll(started.job.id, neverAborted)).job.state === "ended");
      await using children = startChildren(3, CHILD, "take", { target: here, path });
      await children.next();
      children.send("go");
      const counts = await children.next<number>();
      expect(counts.reduce((sum, count) => sum + count)).toBe(1);
      expect(await jobs.takeCompletions("a", neverAborted)).toEqual([]);
    });

    it("F50: a wait or a log that saw the end counts as notified, a poll does not", async () => {
      await using opened = await open();
      const { jobs, startJob } = opened;
      const [waited, read, polled] = [
        await startJob("true", { notify: true }),
        await startJob("true", { notify: true }),
        await startJob("true", { notify: true }),
      ];
      await jobs.wait(waited.id, WAIT_MS, neverAborted);
      for (const { id } of [read, polled])
        await waitUntil(async () => (await jobs.poll(id, neverAborted)).job.state === "ended");
      await jobs.log(read.id, {}, neverAborted);
      expect((await jobs.takeCompletions("a", neverAborted)).map(({ id }) => id)).toEqual([polled.id]);
    });

    test("F47: the end of a turn or session ends only the jobs that must not outlive it", async () => {
      await using opened = await open();
      const { jobs, startJob } = opened;
      const running = async () =>
        (await jobs.list(neverAborted)).filter(({ state }) => state === "running").map(({ id }) => id);
      const turn = await startJob("sleep 600", { lifetime: "turn" });
      const session = await startJob("sleep 600", { lifetime: "session" });
      const persistent = await startJob("sleep 600", { lifetime: "persistent" });
      const other = await startJob("sleep 600", { lifetime: "turn", owner: "b" });
      expect((await jobs.sweep("a", "turn", neverAborted)).map(({ job }) => job.id)).toEqual([turn.id]);
      expect(await running()).toEqual([session.id, persistent.id, other.id]);
      await jobs.sweep("a", "session", neverAborted);
      expect(await running()).toEqual([persistent.id, other.id]);
      await Promise.all([persistent, other].map(({ id }) => jobs.kill(id, neverAborted)));
    });

    test("F45: a start whose result is lost leaves no processes behind", async () => {
      let starts = 0;
      const path = temp.file("lost-start.sqlite");
      await using opened = await openJobs(here, path, async ({ stdin }, run) => {
        const result = await run();
        if (stdin !== "sleep 61" || starts++ > 0) return result;
        return { ...result, ended: "lost", notices: ["It died."] };
      });
      const { jobs, environment } = opened;
      const options = { session: environment.openSession(), owner: "a", lifetime: "session" } as const;
      const started = await jobs.start("sleep 61", options, neverAborted);
      expect(started).toEqual({ kind: "failed-start", message: "the start was lost. It died." });
      const [job] = await jobs.list(neverAborted);
      expect(job).toMatchObject({ state: "ended", reason: "failed_start" });
      expect(await processesOf(environment, job?.id ?? "")).toBe("");
    });

    test("F46: a start that was never confirmed because its process died is ended by a later process", async () => {
      await using opened = await open();
      const { jobs, environment, database, startJob } = opened;
      const job = await startJob("sleep 600");
      const forget = database.prepare(
        "update job set state = 'starting', process = null, started_at = started_at - ?",
      );
      await database.write(() => forget.run(0), neverAborted);
      expect(await jobs.list(neverAborted)).toMatchObject([{ state: "starting" }]);
      await database.write(() => forget.run(120_000), neverAborted);
      expect(await jobs.list(neverAborted)).toMatchObject([{ state: "ended", reason: "failed_start" }]);
      expect(await processesOf(environment, job.id)).toBe("");
    });

    it("D3: a command that does not exist is a job with exit code 127, not a failed start", async () => {
      await using opened = await open();
      const { jobs, startJob } = opened;
      const job = await startJob("no-such-command-anywhere");
      expect((await jobs.wait(job.id, WAIT_MS, neverAborted)).job).toMatchObject({
        reason: "exited",
        exitCode: 127,
      });
      expect((await jobs.log(job.id, {}, neverAborted)).text).toContain("not found");
    });

    it("D3: a job without input sees the end of its input at once", async () => {
      await using opened = await open();
      const { jobs, startJob } = opened;
      const job = await startJob("cat; read x || echo nothing");
      expect((await jobs.wait(job.id, WAIT_MS, neverAborted)).job.exitCode).toBe(0);
      expect((await jobs.log(job.id, {}, neverAborted)).text).toBe("nothing\n");
    });

    it("F41: a job that prints endlessly uses little disk space, does not slow down others, and its log marks the gap", async () => {
      await using opened = await open();
      const { jobs, environment, startJob } = opened;
      const job = await startJob("echo first; yes 0123456789; :");
      const enough = 8 * PART_BYTES;
      await waitUntil(async () => (await jobs.read(job.id, -1, neverAborted)).totalBytes > enough);
      expect((await collect(environment, "echo quick")).stdout).toBe("quick\n");
      const used = await collect(environment, `du -sk ${job.folder} | cut -f1`);
      expect(Number(used.stdout) * 1024).toBeLessThan(7 * PART_BYTES);
      const head = await jobs.log(job.id, { offset: 0, limit: 3 }, neverAborted);
      expect(head.text).toBe("first\n0123456789\n0123456789\n");
      expect(head.droppedBytes).toBeGreaterThan(PART_BYTES);
      const tail = await jobs.log(job.id, { limit: 2 }, neverAborted);
      expect(tail.text).toContain("0123456789\n");
      expect(tail.totalLines).toBeGreaterThan(head.totalLines);
      expect(await jobs.kill(job.id, neverAborted)).toMatchObject({ kind: "killed", survivors: [] });
      const ended = await jobs.log(job.id, { offset: 0, limit: 1 }, neverAborted);
      const gap = await jobs.log(job.id, { offset: 400_000, limit: 5 }, neverAborted);
      expect(gap.text).toBe(
        `\n[${ended.droppedBytes} bytes of output, ${ended.droppedLines} lines, were not kept]\n`,
      );
      const afterGap = await jobs.read(job.id, PART_BYTES * 3, neverAborted);
      const line = 11;
      const firstLine = "first\n".length;
      expect(afterGap.from).toBeGreaterThan(PART_BYTES * 3);
      // The reported offset of a byte is its position in the whole output.
      const offset = (afterGap.from - firstLine) % line;
      expect(afterGap.bytes.toString("latin1", 0, line)).toBe(
        "0123456789\n0123456789\n".slice(offset, offset + line),
      );
      expect(ended.totalBytes - firstLine - (ended.totalLines - 1) * line).toBeLessThanOrEqual(0);
    });

    test("D3, F51: a job on a terminal has 30 rows and 120 columns, takes input, does not echo a secret, and ends at Ctrl-D", async ({
      skip,
    }) => {
      await using opened = await open();
      const { jobs, environment } = opened;
      const options = {
        session: environment.openSession(),
        owner: "a",
        lifetime: "session",
        pty: true,
      } as const;
      const command =
        'stty size; read a; stty -echo; echo asks; read b; stty echo; echo "$a $(printf %s "$b" | wc -c)"; cat; exit 6';
      const started = await jobs.start(command, options, neverAborted);
      if (started.kind !== "started") throw new Error(started.message);
      const { id } = started.job;
      if (started.job.input !== "terminal") {
        expect(started).toMatchObject({
          job: { input: "pipe" },
          notes: [expect.stringContaining("no terminal")],
        });
        await jobs.kill(id, neverAborted);
        skip("there is no `script` of util-linux in this environment");
      }
      expect(started.notes).toEqual([]);
      const shows = (text: string) =>
        waitUntil(async () => (await jobs.poll(id, neverAborted)).preview.includes(text));
      await shows("30 120");
      expect(await jobs.submit(id, "typed", neverAborted)).toBe("written");
      await shows("asks");
      expect(await jobs.submit(id, "hidden!", neverAborted)).toBe("written");
      await shows("typed 7");
      expect((await jobs.log(id, { offset: 0 }, neverAborted)).text).not.toContain("hidden!");
      expect(await jobs.close(id, neverAborted)).toBe("written");
      expect((await jobs.wait(id, WAIT_MS, neverAborted)).job).toMatchObject({
        reason: "exited",
        exitCode: 6,
      });
    });

    it("a job on a terminal receives Ctrl-C, can be resized, and takes input after Ctrl-D", async ({
      skip,
    }) => {
      await using opened = await open();
      const { jobs, environment } = opened;
      const options = { session: environment.openSession(), owner: "a", lifetime: "session" } as const;
      const command =
        'until [ "$(stty size)" = "40 100" ]; do sleep 0.1; done; cat; echo first; cat; echo second; ' +
        "trap 'echo heard' INT; echo asks; cat; exit 7";
      const started = await jobs.start(command, { ...options, pty: true }, neverAborted);
      if (started.kind !== "started") throw new Error(started.message);
      const { id, input } = started.job;
      if (input !== "terminal") {
        await jobs.kill(id, neverAborted);
        skip("there is no `script` of util-linux in this environment");
      }
      const shows = (text: string) =>
        waitUntil(async () => (await jobs.poll(id, neverAborted)).preview.includes(text));
      await jobs.resize(id, { rows: 40, columns: 100 }, neverAborted);
      expect(await jobs.close(id, neverAborted)).toBe("written");
      await shows("first");
      expect(await jobs.submit(id, "typed", neverAborted)).toBe("written");
      await shows("typed\ntyped");
      expect(await jobs.close(id, neverAborted)).toBe("written");
      await shows("asks");
      expect(await jobs.write(id, "\u0003", neverAborted)).toBe("written");
      await shows("heard");
      expect((await jobs.wait(id, WAIT_MS, neverAborted)).job).toMatchObject({
        reason: "exited",
        exitCode: 7,
      });
    });

    it("F72: a start names jobs that already run the same command in the same folder", async () => {
      await using opened = await open();
      const { jobs, environment, startJob } = opened;
      const first = await startJob("sleep 600", { workdir: "/tmp" });
      await startJob("sleep 600", { workdir: "/" });
      const options = {
        session: environment.openSession(),
        owner: "b",
        lifetime: "session",
        workdir: "/tmp",
      } as const;
      const again = await jobs.start("sleep 600", options, neverAborted);
      expect(again).toMatchObject({ kind: "started", sameCommandJobs: [{ id: first.id }] });
      for (const { id } of await jobs.list(neverAborted)) await jobs.kill(id, neverAborted);
      expect(await jobs.start("sleep 600", options, neverAborted)).toMatchObject({ sameCommandJobs: [] });
      await jobs.sweep("b", "session", neverAborted);
    });

    it("D3: a watched text is reported once, by one of two pollers, and nothing is reported after the end", async () => {
      const path = temp.file("watch.sqlite");
      await using opened = await open(path);
      await using other = await openJobs(here, path);
      const { jobs, environment } = opened;
      const options = { session: environment.openSession(), owner: "a", lifetime: "session" } as const;
      const watched = { ...options, watch: ["READY"], takesInput: true };
      const started = await jobs.start(
        "echo not yet; read x; echo server READY; read x; echo READY",
        watched,
        neverAborted,
      );
      if (started.kind !== "started") throw new Error(started.message);
      const { id } = started.job;
      expect(await jobs.takeWatchEvents("a", neverAborted)).toEqual([]);
      await jobs.submit(id, "", neverAborted);
      await waitUntil(async () => (await jobs.poll(id, neverAborted)).preview.includes("READY"));
      expect(await jobs.takeWatchEvents("b", neverAborted)).toEqual([]);
      const both = await Promise.all(
        [opened, other].map((one) => one.jobs.takeWatchEvents("a", neverAborted)),
      );
      expect(both.flat()).toMatchObject([{ kind: "hits", job: { id }, lines: ["server READY"], dropped: 0 }]);
      await jobs.submit(id, "", neverAborted);
      await jobs.wait(id, WAIT_MS, neverAborted);
      expect(await jobs.takeWatchEvents("a", neverAborted)).toEqual([]);
    });

    it("D3: together with notify, patterns are dropped with a note", async () => {
      await using opened = await open();
      const { jobs, environment } = opened;
      const options = { session: environment.openSession(), owner: "a", lifetime: "session" } as const;
      const started = await jobs.start(
        "echo READY; sleep 600",
        { ...options, notify: true, watch: ["READY"] },
        neverAborted,
      );
      expect(started).toMatchObject({
        job: { watch: undefined },
        notes: [expect.stringContaining("not watched")],
      });
      await jobs.sweep("a", "session", neverAborted);
    });

    it("D3: a watch with too many hits is ended with one notice, and the end of the job is reported instead", async () => {
      await using opened = await open();
      const { jobs, database, startJob } = opened;
      const job = await startJob("while read x; do echo hit; done", { watch: ["hit"], takesInput: true });
      const hit = async () => {
        const { totalBytes } = await jobs.read(job.id, -1, neverAborted);
        await jobs.submit(job.id, "", neverAborted);
        await waitUntil(async () => (await jobs.read(job.id, -1, neverAborted)).totalBytes > totalBytes);
        return (await jobs.takeWatchEvents("a", neverAborted)).map(({ kind }) => kind);
      };
      const quietUntil = database.prepare(
        "update job set watch = json_set(watch, '$.state.quietUntil', cast(? as integer)) where watch is not null",
      );
      const kinds: string[][] = [];
      for (let window = 0; window < 3; window++) {
        await database.write(() => quietUntil.run(0), neverAborted);
        kinds.push(await hit());
        await database.write(() => quietUntil.run(Number.MAX_SAFE_INTEGER), neverAborted); // independent of the speed of the test
        kinds.push(await hit());
      }
      expect(kinds).toEqual([["hits"], [], ["hits"], [], ["hits"], ["watch-ended"]]);
      expect(await hit()).toEqual([]);
      await jobs.close(job.id, neverAborted);
      await waitUntil(async () => (await jobs.poll(job.id, neverAborted)).job.state === "ended");
      expect((await jobs.takeCompletions("a", neverAborted)).map(({ id }) => id)).toEqual([job.id]);
    });

    it("F47: jobs above their maximum age and jobs of a deleted owner are ended, but not persistent ones", async () => {
      await using opened = await open();
      const { jobs, startJob } = opened;
      const old = await startJob("sleep 600", { maxAgeMs: 0 });
      const young = await startJob("sleep 600");
      const kept = await startJob("sleep 600", { lifetime: "persistent" });
      const ofTurn = await startJob("sleep 600", { lifetime: "turn", owner: "b" });
      const endedBySweep = async (phase: "in-turn" | "between-turns" | "gone") =>
        (await jobs.sweepExpired(() => phase, neverAborted)).map(({ job }) => job.id);
      expect(await endedBySweep("in-turn")).toEqual([old.id]);
      expect(await endedBySweep("between-turns")).toEqual([ofTurn.id]);
      expect(await endedBySweep("gone")).toEqual([young.id]);
      expect(young.expiresAt).toBe(young.startedAt + 24 * 3_600_000);
      expect(kept.expiresAt).toBeUndefined();
      expect((await jobs.poll(kept.id, neverAborted)).job.state).toBe("running");
      await jobs.kill(kept.id, neverAborted);
    });

    it("F50: an unconfirmed completion is delivered again later, a confirmed one is not", async () => {
      await using opened = await open();
      const { jobs, database, startJob } = opened;
      const job = await startJob("true", { notify: true });
      await waitUntil(async () => (await jobs.poll(job.id, neverAborted)).job.state === "ended");
      const take = async () => (await jobs.takeCompletions("a", neverAborted)).map(({ id }) => id);
      expect(await take()).toEqual([job.id]);
      expect(await take()).toEqual([]);
      const aMinuteLater = database.prepare("update job set notice_held_until = notice_held_until - 60000");
      await database.write(() => aMinuteLater.run(), neverAborted);
      expect(await take()).toEqual([job.id]);
      await jobs.confirmCompletions([job.id], neverAborted);
      await database.write(() => aMinuteLater.run(), neverAborted);
      expect(await take()).toEqual([]);
    });

    it("D3: a start deletes ended jobs that are too old, with their output", async () => {
      await using opened = await open();
      const { jobs, environment, database, startJob } = opened;
      const old = await startJob("echo x");
      await jobs.wait(old.id, WAIT_MS, neverAborted);
      const age = database.prepare("update job set ended_at = ended_at - 8 * 24 * 3600000");
      await database.write(() => age.run(), neverAborted);
      const next = await startJob("true");
      expect((await jobs.list(neverAborted)).map(({ id }) => id)).toEqual([next.id]);
      expect((await collect(environment, `ls -d ${old.folder} 2>/dev/null; true`)).stdout).toBe("");
      await jobs.wait(next.id, WAIT_MS, neverAborted);
    });

    test.each(["", "proc_", "abc", "proc_zzzz", "proc_0000", "../etc"])(
      "an id like %j is not found",
      async (id) => {
        await using opened = await open();
        await expect(opened.jobs.poll(id, neverAborted)).rejects.toMatchObject({ code: "job-not-found" });
      },
    );
  });
}

/** The running processes that have the id of a job in their environment. */
export async function processesOf(environment: Environment, id: string): Promise<string> {
  // Only GNU grep handles zero bytes; the fallback starts two processes per pid, which is slow on a whole machine.
  const command = `if grep --version 2>/dev/null | grep -q GNU; then grep -lszx "HERMES_JOB_ID=$J" /proc/[0-9]*/environ
else for d in /proc/[0-9]*; do tr '\\0' '\\n' <$d/environ 2>/dev/null | grep -q "^HERMES_JOB_ID=$J$" && echo $d; done; fi; true`;
  return (await collect(environment, command, { variables: { J: id } })).stdout;
}

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("the condition was not met in time");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
