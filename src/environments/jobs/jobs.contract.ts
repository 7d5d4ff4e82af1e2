import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startChild, startChildren } from "../../../test/support/child.ts";
import { shellRows } from "../../../test/support/shell-rows.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { collect } from "../environment.contract.ts";
import type { Environment } from "../environment.ts";
import { openJobs, type PlaceOfJobs } from "./jobs.fixture.ts";
import type { JobStarted, StartJob } from "./jobs.ts";
import { PART_BYTES } from "./output-programs.ts";

export interface JobsTraits {
  readonly name: string;
  readonly shell: "bash" | "sh";
  /** Its commands run in the image that Docker runs the same contract in, by the code of Docker. */
  readonly hasShellOfDocker?: boolean;
  place(): Promise<PlaceOfJobs>;
  /** The arguments of every process that the outside of the place sees in it. */
  outsideView?(): Promise<string>;
}

const never = new AbortController().signal;
const CHILD = new URL("./jobs.child.ts", import.meta.url);
const WAIT_MS = 150_000; // ends what hangs

/** What jobs promise in every environment. */
export function jobsContract(traits: JobsTraits): void {
  const { name, shell, place, outsideView } = traits;
  const it = shellRows(traits);
  describe(`${name} keeps the contract of jobs`, () => {
    let temp: Awaited<ReturnType<typeof tempFolder>>;
    let here: PlaceOfJobs;
    beforeAll(async () => {
      temp = await tempFolder();
      here = await place();
    });
    afterAll(async () => {
      await temp[Symbol.asyncDispose]();
    });
    const open = async () => {
      const opened = await openJobs(here, temp.file(`${randomBytes(4).toString("hex")}.sqlite`));
      const { jobs, environment } = opened;
      /** Starts it and returns its record. */
      const begin = async (command: string, options: Partial<StartJob> = {}) => {
        const session = environment.openSession();
        const all = { session, owner: "a", lifetime: "session", ...options } as const;
        const started = await jobs.start(command, all, never);
        if (started.kind !== "started") throw new Error(started.message);
        return started.job;
      };
      return Object.assign(opened, { begin });
    };

    test("D3: a job runs beside us, and its exit code, folder and whole output are known after it", async () => {
      await using opened = await open();
      const { jobs, begin } = opened;
      const job = await begin("echo out; echo err >&2; pwd; exit 3", { workdir: "/tmp" });
      expect(job).toMatchObject({ state: "running", cwd: "/tmp", reason: undefined });
      expect(job.id).toMatch(/^proc_[0-9a-f]{12}$/);
      const { kind, job: over } = await jobs.wait(job.id, WAIT_MS, never);
      expect(kind).toBe("ended");
      expect(over).toMatchObject({ state: "ended", reason: "exited", exitCode: 3 });
      const page = await jobs.log(job.id, {}, never);
      expect(page).toMatchObject({ text: "out\nerr\n/tmp\n", totalLines: 3, offset: 0, isCut: false });
    });

    test("F45: a start that fails is told as such, and is nothing that runs", async () => {
      await using opened = await open();
      const { jobs, environment } = opened;
      const options = {
        session: environment.openSession(),
        owner: "a",
        lifetime: "session",
        notify: true,
      } as const;
      const nowhere = await jobs.start("echo x", { ...options, workdir: "/no/such/folder" }, never);
      expect(nowhere).toEqual({ kind: "failed-start", message: "the folder does not exist" });
      // busybox needs no PATH for its own tools
      const path = shell === "bash" ? { PATH: "/nonexistent" } : undefined;
      if (path) {
        const bare = await jobs.start("echo x", { ...options, variables: path }, never);
        expect(bare).toMatchObject({ kind: "failed-start", message: expect.stringContaining("127") });
      }
      expect(await jobs.takeCompletions("a", never)).toEqual([]);
      const listed = await jobs.list(never);
      expect(new Set(listed.map(({ state, reason }) => `${state} ${reason}`))).toEqual(
        new Set(["ended failed_start"]),
      );
    });

    it("the command finds the session's variables and leaves the session as it was", async () => {
      await using opened = await open();
      const { jobs, environment, begin } = opened;
      const session = environment.openSession();
      await collect(environment, "cd /tmp; export COLOUR='light \"blue\"'", {
        session,
      });
      const job = await begin('echo "$COLOUR"; pwd', { session, workdir: "/", variables: { ONCE: "1" } });
      await jobs.wait(job.id, WAIT_MS, never);
      expect((await jobs.log(job.id, {}, never)).text).toBe('light "blue"\n/\n');
      expect((await collect(environment, 'pwd; echo "[$ONCE]"', { session })).stdout).toBe("/tmp\n[]\n");
    });

    test.runIf(shell === "bash")("functions and aliases of the session are there", async () => {
      await using opened = await open();
      const { jobs, environment, begin } = opened;
      const session = environment.openSession();
      await collect(
        environment,
        "greet() { echo hello $1; }; printf() { echo broken; }; alias ll='echo listing'",
        { session },
      );
      const job = await begin("greet you; ll", { session });
      await jobs.wait(job.id, WAIT_MS, never);
      expect((await jobs.log(job.id, {}, never)).text).toBe("hello you\nlisting\n");
    });

    test("a secret is in the job's variables, in no argument, no file and no record", async () => {
      await using opened = await open();
      const { jobs, environment, database, begin } = opened;
      const secret = `s-${randomBytes(8).toString("hex")}`;
      const job = await begin('[ -n "$GIVEN" ] && echo given; : hunter2hunter2; sleep 600', {
        variables: { GIVEN: secret },
      });
      await until(async () => (await jobs.poll(job.id, never)).preview === "given\n");
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
      await jobs.kill(job.id, never);
    });

    test("D3: input is written, submitted and closed; afterwards, and where none is taken, that is told", async () => {
      await using opened = await open();
      const { jobs, begin } = opened;
      const job = await begin('read a; read b; echo "$a|$b"; cat; echo end', { takesInput: true });
      expect(await jobs.write(job.id, "o", never)).toBe("written");
      expect(await jobs.submit(job.id, "ne", never)).toBe("written");
      expect(await jobs.submit(job.id, "two", never)).toBe("written");
      await until(async () => (await jobs.poll(job.id, never)).preview === "one|two\n");
      const large = "x".repeat(100_000);
      expect(await jobs.submit(job.id, large, never)).toBe("written");
      expect((await jobs.poll(job.id, never)).job.state).toBe("running");
      expect(await jobs.close(job.id, never)).toBe("written");
      expect(["closed", "ended"]).toContain(await jobs.submit(job.id, "late", never));
      expect((await jobs.wait(job.id, WAIT_MS, never)).job.exitCode).toBe(0);
      expect(await jobs.submit(job.id, "late", never)).toBe("ended");
      expect((await jobs.log(job.id, {}, never)).text).toBe(`one|two\n${large}\nend\n`);
      const deaf = await begin("cat; sleep 600");
      expect(await jobs.submit(deaf.id, "x", never)).toBe("no-input");
      await jobs.kill(deaf.id, never);
    });

    it("a job that waits for input that nobody gives is running, and can be ended", async () => {
      await using opened = await open();
      const { jobs, environment, begin } = opened;
      const job = await begin("cat; echo never", { takesInput: true });
      const outcome = await jobs.wait(job.id, 300, never);
      expect(outcome).toMatchObject({ kind: "timed-out", job: { state: "running" } });
      expect(await jobs.kill(job.id, never)).toMatchObject({ kind: "killed", survivors: [] });
      expect(await processesOf(environment, job.id)).toBe("");
    });

    test("wait ends when its caller gives up, and the job runs on", async () => {
      await using opened = await open();
      const { jobs, begin } = opened;
      const job = await begin("sleep 600");
      const outcome = await jobs.wait(job.id, WAIT_MS, AbortSignal.timeout(200));
      expect(outcome).toMatchObject({ kind: "interrupted", job: { state: "running" } });
      await jobs.kill(job.id, never);
    });

    test("F49: kill ends the whole tree: what ignores TERM, forks away, or drops its variables", async () => {
      await using opened = await open();
      const { jobs, environment, begin } = opened;
      const job = await begin(
        [
          "trap '' TERM",
          "(while :; do sleep 0.1; done) &",
          "setsid sh -c 'echo $$; while :; do sleep 0.1; done' &",
          "env -i PATH=\"$PATH\" sh -c 'echo $$; while :; do sleep 0.1; done' &",
          "while :; do sleep 0.1; done",
        ].join("\n"),
      );
      await until(async () => (await jobs.poll(job.id, never)).preview.split("\n").length === 3);
      const pids = (await jobs.poll(job.id, never)).preview.trim().split("\n");
      const outcome = await jobs.kill(job.id, never);
      expect(outcome).toMatchObject({ kind: "killed", survivors: [] });
      expect(outcome.job).toMatchObject({ state: "ended", reason: "killed", exitCode: -15 });
      expect(await processesOf(environment, job.id)).toBe("");
      const states = pids.map((pid) => `grep -s ^State /proc/${pid}/status`).join("; ");
      expect((await collect(environment, `{ ${states}; } | grep -v Z; true`)).stdout).toBe("");
      // What is seen later changes nothing.
      expect((await jobs.list(never))[0]).toMatchObject({ reason: "killed", exitCode: -15 });
      expect(await jobs.kill(job.id, never)).toMatchObject({
        kind: "already-ended",
        job: { reason: "killed" },
      });
    });

    it("F49: a pid that is somebody else's by now is not taken for the job and not hurt", async () => {
      await using opened = await open();
      const { jobs, database, begin } = opened;
      const job = await begin("sleep 600");
      const stranger = await begin("sleep 600");
      const change = database.prepare(
        "update job set process = json_set(process, '$.pid', ?, '$.keeperPid', ?) where id = ?",
      );
      await database.write(
        () => change.run(stranger.process?.pid ?? 0, stranger.process?.pid ?? 0, job.id),
        never,
      );
      expect((await jobs.poll(job.id, never)).job).toMatchObject({
        state: "ended",
        reason: "lost",
        exitCode: -1,
      });
      expect((await jobs.kill(job.id, never)).kind).toBe("killed"); // found by its mark
      expect((await jobs.poll(stranger.id, never)).job.state).toBe("running");
      expect((await jobs.poll(job.id, never)).job.reason).toBe("lost");
      await jobs.kill(stranger.id, never);
    });

    it("a job that kills its own group has an exit code; one whose keeper died with it is lost", async () => {
      await using opened = await open();
      const { jobs, environment, begin } = opened;
      const suicide = await begin("kill -9 0");
      expect((await jobs.wait(suicide.id, WAIT_MS, never)).job).toMatchObject({
        reason: "exited",
        exitCode: 137,
      });
      const lost = await begin("sleep 600");
      await collect(environment, `kill -9 ${lost.process?.keeperPid}`);
      expect((await jobs.poll(lost.id, never)).job.state).toBe("running");
      await collect(environment, `kill -9 ${lost.process?.pid}`);
      expect((await jobs.wait(lost.id, WAIT_MS, never)).job).toMatchObject({
        reason: "lost",
        exitCode: -1,
      });
      await jobs.kill(lost.id, never); // what it has started lives on
    });

    it("a job that prints fast does not disturb others, and its log is read in pages", async () => {
      await using opened = await open();
      const { jobs, environment, begin } = opened;
      const job = await begin(
        "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i + 1)); done; printf partial",
      );
      expect((await collect(environment, "echo quick")).stdout).toBe("quick\n");
      expect((await jobs.poll(job.id, never)).preview.length).toBeLessThanOrEqual(1_000);
      await jobs.wait(job.id, WAIT_MS, never);
      const last = await jobs.log(job.id, {}, never);
      expect(last).toMatchObject({ totalLines: 20_001, offset: 19_801, droppedBytes: 0 });
      expect(last.text.startsWith("line 19801\n")).toBe(true);
      expect(last.text.endsWith("line 19999\npartial")).toBe(true);
      const head = await jobs.log(job.id, { offset: 0, limit: 2 }, never);
      expect(head).toMatchObject({ text: "line 0\nline 1\n", offset: 0, isCut: false });
      const all = await jobs.log(job.id, { offset: 0, limit: 100_000 }, never);
      expect(all.isCut).toBe(true);
      expect(all.text).toHaveLength(200_000);
      expect((await jobs.log(job.id, { offset: 30_000 }, never)).text).toBe("");
    });

    test("F46: what process A started and left by its death, process B lists, reads whole and kills", async () => {
      const path = temp.file("restart.sqlite");
      const command = "echo first; while :; do echo more; sleep 0.1; done";
      await using child = startChild(CHILD, "start", { place: here, path, command });
      const started = await child.next<JobStarted>();
      if (started.kind !== "started") throw new Error(started.message);
      const { job } = started;
      await child.kill();
      await using opened = await openJobs(here, path);
      const { jobs, environment } = opened;
      expect(await jobs.list(never)).toMatchObject([{ id: job.id, state: "running", command, owner: "a" }]);
      await until(async () => (await jobs.log(job.id, { offset: 0 }, never)).totalLines > 3);
      expect((await jobs.log(job.id, { offset: 0 }, never)).text).toMatch(/^first\nmore\nmore\n/);
      if (outsideView !== undefined) expect(await outsideView()).toContain("hermes-job");
      const prefix = job.id.slice("proc_".length, -4);
      expect(await jobs.kill(prefix, never)).toMatchObject({ kind: "killed", survivors: [] });
      expect(await processesOf(environment, job.id)).toBe("");
      if (outsideView !== undefined) expect(await outsideView()).not.toContain("hermes-job");
    });

    it("F50: of several processes exactly one is told that a job ended, and only once", async () => {
      const path = temp.file("notify.sqlite");
      await using opened = await openJobs(here, path);
      const { jobs, environment } = opened;
      const options = {
        session: environment.openSession(),
        owner: "a",
        lifetime: "turn",
        notify: true,
      } as const;
      const started = await jobs.start("exit 4", options, never);
      if (started.kind !== "started") throw new Error(started.message);
      await until(async () => (await jobs.poll(started.job.id, never)).job.state === "ended");
      await using children = startChildren(3, CHILD, "take", { place: here, path });
      await children.next();
      children.tell("go");
      const counts = await children.next<number>();
      expect(counts.reduce((sum, count) => sum + count)).toBe(1);
      expect(await jobs.takeCompletions("a", never)).toEqual([]);
    });

    it("F50: a wait or a log that saw the end counts as told, a poll does not", async () => {
      await using opened = await open();
      const { jobs, begin } = opened;
      const [waited, read, polled] = [
        await begin("true", { notify: true }),
        await begin("true", { notify: true }),
        await begin("true", { notify: true }),
      ];
      await jobs.wait(waited.id, WAIT_MS, never);
      for (const { id } of [read, polled])
        await until(async () => (await jobs.poll(id, never)).job.state === "ended");
      await jobs.log(read.id, {}, never);
      expect((await jobs.takeCompletions("a", never)).map(({ id }) => id)).toEqual([polled.id]);
    });

    test("F47: a turn and a session take with them what must not outlive them, and nothing else", async () => {
      await using opened = await open();
      const { jobs, begin } = opened;
      const lives = async () =>
        (await jobs.list(never)).filter(({ state }) => state === "running").map(({ id }) => id);
      const turn = await begin("sleep 600", { lifetime: "turn" });
      const session = await begin("sleep 600", { lifetime: "session" });
      const persistent = await begin("sleep 600", { lifetime: "persistent" });
      const other = await begin("sleep 600", { lifetime: "turn", owner: "b" });
      expect((await jobs.sweep("a", "turn", never)).map(({ job }) => job.id)).toEqual([turn.id]);
      expect(await lives()).toEqual([session.id, persistent.id, other.id]);
      await jobs.sweep("a", "session", never);
      expect(await lives()).toEqual([persistent.id, other.id]);
      await Promise.all([persistent, other].map(({ id }) => jobs.kill(id, never)));
    });

    test("F45: a start whose answer is lost leaves nothing behind", async () => {
      let starts = 0;
      const path = temp.file("lost-start.sqlite");
      await using opened = await openJobs(here, path, async ({ stdin }, run) => {
        const result = await run();
        if (stdin !== "sleep 61" || starts++ > 0) return result;
        return { ...result, ended: "lost", notices: ["It died."] };
      });
      const { jobs, environment } = opened;
      const options = { session: environment.openSession(), owner: "a", lifetime: "session" } as const;
      const started = await jobs.start("sleep 61", options, never);
      expect(started).toEqual({ kind: "failed-start", message: "the start was lost. It died." });
      const [job] = await jobs.list(never);
      expect(job).toMatchObject({ state: "ended", reason: "failed_start" });
      expect(await processesOf(environment, job?.id ?? "")).toBe("");
    });

    test("F46: a start that its process did not live to confirm is ended by whoever comes later", async () => {
      await using opened = await open();
      const { jobs, environment, database, begin } = opened;
      const job = await begin("sleep 600");
      const forget = database.prepare(
        "update job set state = 'starting', process = null, started_at = started_at - ?",
      );
      await database.write(() => forget.run(0), never);
      expect(await jobs.list(never)).toMatchObject([{ state: "starting" }]);
      await database.write(() => forget.run(120_000), never);
      expect(await jobs.list(never)).toMatchObject([{ state: "ended", reason: "failed_start" }]);
      expect(await processesOf(environment, job.id)).toBe("");
    });

    it("D3: a command that does not exist is a job that ended with 127, and not a failed start", async () => {
      await using opened = await open();
      const { jobs, begin } = opened;
      const job = await begin("no-such-command-anywhere");
      expect((await jobs.wait(job.id, WAIT_MS, never)).job).toMatchObject({
        reason: "exited",
        exitCode: 127,
      });
      expect((await jobs.log(job.id, {}, never)).text).toContain("not found");
    });

    it("D3: a job that nobody gives input sees the end of it at once", async () => {
      await using opened = await open();
      const { jobs, begin } = opened;
      const job = await begin("cat; read x || echo nothing");
      expect((await jobs.wait(job.id, WAIT_MS, never)).job.exitCode).toBe(0);
      expect((await jobs.log(job.id, {}, never)).text).toBe("nothing\n");
    });

    it("F41: a job that prints without end uses little disk, disturbs nobody, and its log says what is gone", async () => {
      await using opened = await open();
      const { jobs, environment, begin } = opened;
      const job = await begin("echo first; yes 0123456789; :");
      const enough = 8 * PART_BYTES;
      await until(async () => (await jobs.read(job.id, -1, never)).totalBytes > enough);
      expect((await collect(environment, "echo quick")).stdout).toBe("quick\n");
      const used = await collect(environment, `du -sk ${job.folder} | cut -f1`);
      expect(Number(used.stdout) * 1024).toBeLessThan(7 * PART_BYTES);
      const head = await jobs.log(job.id, { offset: 0, limit: 3 }, never);
      expect(head.text).toBe("first\n0123456789\n0123456789\n");
      expect(head.droppedBytes).toBeGreaterThan(PART_BYTES);
      const tail = await jobs.log(job.id, { limit: 2 }, never);
      expect(tail.text).toContain("0123456789\n");
      expect(tail.totalLines).toBeGreaterThan(head.totalLines);
      expect(await jobs.kill(job.id, never)).toMatchObject({ kind: "killed", survivors: [] });
      const over = await jobs.log(job.id, { offset: 0, limit: 1 }, never);
      const hole = await jobs.log(job.id, { offset: 400_000, limit: 5 }, never);
      expect(hole.text).toBe(
        `\n[${over.droppedBytes} bytes of output, ${over.droppedLines} lines, were not kept]\n`,
      );
      const gone = await jobs.read(job.id, PART_BYTES * 3, never);
      const line = 11;
      const firstLine = "first\n".length;
      expect(gone.from).toBeGreaterThan(PART_BYTES * 3);
      // Where a byte is said to be is where it was printed.
      const place = (gone.from - firstLine) % line;
      expect(gone.bytes.toString("latin1", 0, line)).toBe(
        "0123456789\n0123456789\n".slice(place, place + line),
      );
      expect(over.totalBytes - firstLine - (over.totalLines - 1) * line).toBeLessThanOrEqual(0);
    });

    test("D3, F51: a job on a terminal has 30 rows and 120 columns, is written to, shows no typed secret, and Ctrl-D is its end", async ({
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
      const started = await jobs.start(command, options, never);
      if (started.kind !== "started") throw new Error(started.message);
      const { id } = started.job;
      if (started.job.input !== "terminal") {
        expect(started).toMatchObject({
          job: { input: "pipe" },
          notes: [expect.stringContaining("no terminal")],
        });
        await jobs.kill(id, never);
        skip("there is no `script` of util-linux in this place");
      }
      expect(started.notes).toEqual([]);
      const shows = (text: string) => until(async () => (await jobs.poll(id, never)).preview.includes(text));
      await shows("30 120");
      expect(await jobs.submit(id, "typed", never)).toBe("written");
      await shows("asks");
      expect(await jobs.submit(id, "hidden!", never)).toBe("written");
      await shows("typed 7");
      expect((await jobs.log(id, { offset: 0 }, never)).text).not.toContain("hidden!");
      expect(await jobs.close(id, never)).toBe("written");
      expect((await jobs.wait(id, WAIT_MS, never)).job).toMatchObject({ reason: "exited", exitCode: 6 });
    });

    it("a job on a terminal hears Ctrl-C, can be given another size, and takes input after Ctrl-D", async ({
      skip,
    }) => {
      await using opened = await open();
      const { jobs, environment } = opened;
      const options = { session: environment.openSession(), owner: "a", lifetime: "session" } as const;
      const command =
        'until [ "$(stty size)" = "40 100" ]; do sleep 0.1; done; cat; echo first; cat; echo second; ' +
        "trap 'echo heard' INT; echo asks; cat; exit 7";
      const started = await jobs.start(command, { ...options, pty: true }, never);
      if (started.kind !== "started") throw new Error(started.message);
      const { id, input } = started.job;
      if (input !== "terminal") {
        await jobs.kill(id, never);
        skip("there is no `script` of util-linux in this place");
      }
      const shows = (text: string) => until(async () => (await jobs.poll(id, never)).preview.includes(text));
      await jobs.resize(id, { rows: 40, columns: 100 }, never);
      expect(await jobs.close(id, never)).toBe("written");
      await shows("first");
      expect(await jobs.submit(id, "typed", never)).toBe("written");
      await shows("typed\r\ntyped");
      expect(await jobs.close(id, never)).toBe("written");
      await shows("asks");
      expect(await jobs.write(id, "\u0003", never)).toBe("written");
      await shows("heard");
      expect((await jobs.wait(id, WAIT_MS, never)).job).toMatchObject({ reason: "exited", exitCode: 7 });
    });

    it("F72: a start names those that run the same command in the same folder already", async () => {
      await using opened = await open();
      const { jobs, environment, begin } = opened;
      const first = await begin("sleep 600", { workdir: "/tmp" });
      await begin("sleep 600", { workdir: "/" });
      const options = {
        session: environment.openSession(),
        owner: "b",
        lifetime: "session",
        workdir: "/tmp",
      } as const;
      const again = await jobs.start("sleep 600", options, never);
      expect(again).toMatchObject({ kind: "started", alike: [{ id: first.id }] });
      for (const { id } of await jobs.list(never)) await jobs.kill(id, never);
      expect(await jobs.start("sleep 600", options, never)).toMatchObject({ alike: [] });
      await jobs.sweep("b", "session", never);
    });

    it("D3: a watched text is told once, by one of two that look, and nothing is told after the end", async () => {
      const path = temp.file("watch.sqlite");
      await using opened = await openJobs(here, path);
      await using other = await openJobs(here, path);
      const { jobs, environment } = opened;
      const options = { session: environment.openSession(), owner: "a", lifetime: "session" } as const;
      const watched = { ...options, watch: ["READY"], takesInput: true };
      const started = await jobs.start(
        "echo not yet; read x; echo server READY; read x; echo READY",
        watched,
        never,
      );
      if (started.kind !== "started") throw new Error(started.message);
      const { id } = started.job;
      expect(await jobs.takeWatchEvents("a", never)).toEqual([]);
      await jobs.submit(id, "", never);
      await until(async () => (await jobs.poll(id, never)).preview.includes("READY"));
      expect(await jobs.takeWatchEvents("b", never)).toEqual([]);
      const both = await Promise.all([opened, other].map((one) => one.jobs.takeWatchEvents("a", never)));
      expect(both.flat()).toMatchObject([{ kind: "hits", job: { id }, lines: ["server READY"], dropped: 0 }]);
      await jobs.submit(id, "", never);
      await jobs.wait(id, WAIT_MS, never);
      expect(await jobs.takeWatchEvents("a", never)).toEqual([]);
    });

    it("D3: with the end to be told too, patterns are dropped, and the start says so", async () => {
      await using opened = await open();
      const { jobs, environment } = opened;
      const options = { session: environment.openSession(), owner: "a", lifetime: "session" } as const;
      const started = await jobs.start(
        "echo READY; sleep 600",
        { ...options, notify: true, watch: ["READY"] },
        never,
      );
      expect(started).toMatchObject({
        job: { watch: undefined },
        notes: [expect.stringContaining("not watched")],
      });
      await jobs.sweep("a", "session", never);
    });

    it("D3: a watch that hits too often is ended with one notice, and its end is told instead", async () => {
      await using opened = await open();
      const { jobs, database, begin } = opened;
      const job = await begin("while read x; do echo hit; done", { watch: ["hit"], takesInput: true });
      const hit = async () => {
        const { totalBytes } = await jobs.read(job.id, -1, never);
        await jobs.submit(job.id, "", never);
        await until(async () => (await jobs.read(job.id, -1, never)).totalBytes > totalBytes);
        return (await jobs.takeWatchEvents("a", never)).map(({ kind }) => kind);
      };
      const quietUntil = database.prepare(
        "update job set watch = json_set(watch, '$.state.quietUntil', cast(? as integer)) where watch is not null",
      );
      const kinds: string[][] = [];
      for (let window = 0; window < 3; window++) {
        await database.write(() => quietUntil.run(0), never);
        kinds.push(await hit());
        await database.write(() => quietUntil.run(Number.MAX_SAFE_INTEGER), never); // however slow we are
        kinds.push(await hit());
      }
      expect(kinds).toEqual([["hits"], [], ["hits"], [], ["hits"], ["watch-ended"]]);
      expect(await hit()).toEqual([]);
      await jobs.close(job.id, never);
      await until(async () => (await jobs.poll(job.id, never)).job.state === "ended");
      expect((await jobs.takeCompletions("a", never)).map(({ id }) => id)).toEqual([job.id]);
    });

    it("F47: what is over its age is ended, and what belongs to an owner that is gone, but nothing persistent", async () => {
      await using opened = await open();
      const { jobs, begin } = opened;
      const old = await begin("sleep 600", { maxAgeMs: 0 });
      const young = await begin("sleep 600");
      const kept = await begin("sleep 600", { lifetime: "persistent" });
      const ofTurn = await begin("sleep 600", { lifetime: "turn", owner: "b" });
      const ended = async (phase: "in-turn" | "between-turns" | "gone") =>
        (await jobs.sweepExpired(() => phase, never)).map(({ job }) => job.id);
      expect(await ended("in-turn")).toEqual([old.id]);
      expect(await ended("between-turns")).toEqual([ofTurn.id]);
      expect(await ended("gone")).toEqual([young.id]);
      expect(young.expiresAt).toBe(young.startedAt + 24 * 3_600_000);
      expect(kept.expiresAt).toBeUndefined();
      expect((await jobs.poll(kept.id, never)).job.state).toBe("running");
      await jobs.kill(kept.id, never);
    });

    it("F50: an end that was taken and not confirmed is given again later, a confirmed one is not", async () => {
      await using opened = await open();
      const { jobs, database, begin } = opened;
      const job = await begin("true", { notify: true });
      await until(async () => (await jobs.poll(job.id, never)).job.state === "ended");
      const take = async () => (await jobs.takeCompletions("a", never)).map(({ id }) => id);
      expect(await take()).toEqual([job.id]);
      expect(await take()).toEqual([]);
      const aMinuteLater = database.prepare("update job set notice_held_until = notice_held_until - 60000");
      await database.write(() => aMinuteLater.run(), never);
      expect(await take()).toEqual([job.id]);
      await jobs.confirmCompletions([job.id], never);
      await database.write(() => aMinuteLater.run(), never);
      expect(await take()).toEqual([]);
    });

    it("D3: a start forgets finished jobs that are too old, with all that they printed", async () => {
      await using opened = await open();
      const { jobs, environment, database, begin } = opened;
      const old = await begin("echo x");
      await jobs.wait(old.id, WAIT_MS, never);
      const age = database.prepare("update job set ended_at = ended_at - 8 * 24 * 3600000");
      await database.write(() => age.run(), never);
      const next = await begin("true");
      expect((await jobs.list(never)).map(({ id }) => id)).toEqual([next.id]);
      expect((await collect(environment, `ls -d ${old.folder} 2>/dev/null; true`)).stdout).toBe("");
      await jobs.wait(next.id, WAIT_MS, never);
    });

    test.each(["", "proc_", "abc", "proc_zzzz", "proc_0000", "../etc"])(
      "an id like %j is not found",
      async (id) => {
        await using opened = await open();
        await expect(opened.jobs.poll(id, never)).rejects.toMatchObject({ code: "job-not-found" });
      },
    );
  });
}

/** The living processes that carry the id of a job. */
export async function processesOf(environment: Environment, id: string): Promise<string> {
  const command = `for d in /proc/[0-9]*; do tr '\\0' '\\n' <$d/environ 2>/dev/null | grep -q "^HERMES_JOB_ID=$J$" && echo $d; done; true`;
  return (await collect(environment, command, { variables: { J: id } })).stdout;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error("it did not come about in time");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
