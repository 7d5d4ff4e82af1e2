import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { ClaimedTask } from "../../src/board/operations/claim.ts";
import { logParts, runLogPath } from "../../src/board/worker/run-log.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { codeOf, openPostgresLab } from "../support/board-lab.ts";
import { bundleOf } from "../support/child.ts";
import { describeWith } from "../support/services.ts";
import { eventually, openWorkerLab, PROGRAM, SHORT_LEASE_MS } from "../support/worker-lab.ts";

const never = new AbortController().signal;
const LONG = 300_000;

type Lab = Awaited<ReturnType<typeof openWorkerLab>>;

const call = (name: string, input: object, more: object = {}) => ({ tools: [{ name, input }], ...more });
const shell = (command: string) => call("terminal", { command });
const complete = call("kanban_complete", { summary: "done" });
const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Starts the real worker of a new task. */
async function start(lab: Lab, title: string, details: Parameters<Lab["add"]>[1] = {}) {
  const claimed = await lab.claim((await lab.add(title, details)).id);
  const started = await lab.host.start(claimed, never);
  if (started.kind === "failed") throw new Error(started.error);
  return { claimed, ...started, path: (name: string) => join(started.workspace, name) };
}

async function messagesOf(lab: Lab, profile: string, { run }: ClaimedTask) {
  const { session_id } = await lab.findRun(run.id);
  using sessions = await openSessionStore(join(lab.root, "profiles", profile, "sessions.sqlite"), {}, never);
  return sessions.loadSession(session_id ?? "").messages;
}

describe("a worker that is the agent", () => {
  test(
    "board C1, C3, C7: works a task off in its workspace; its run has session, usage, artifact and log",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", {
        answers: [
          { ...shell("pwd > where.txt; cp where.txt result.txt"), usage: { input: 100, output: 10 } },
          call(
            "kanban_complete",
            { summary: "all done", artifacts: ["result.txt"] },
            { usage: { input: 50, cache_read: 20, output: 5 } },
          ),
        ],
      });
      const { claimed, workspace, supervisorPid } = await start(lab, "Say where you are");
      const run = await lab.ended(claimed);
      expect(run).toMatchObject({
        outcome: "completed",
        summary: "all done",
        input_tokens: 150,
        output_tokens: 15,
        cached_tokens: 20,
        supervisor_pid: supervisorPid,
        session_id: expect.any(String),
        worker_identity: expect.stringContaining(`"pid":${run.worker_pid}`),
      });
      const { task, attachments } = await lab.store.show(claimed.task.id, never);
      expect(task.status).toBe("done");
      expect(await readFile(attachments[0]?.stored_path ?? "", "utf8")).toBe(`${workspace}\n`);
      await eventually(async () =>
        (await lab.logOf(claimed)).includes("exit 0; the run had ended: completed"),
      );
      const [system, first] = await messagesOf(lab, "coder", claimed);
      expect(system).toMatchObject({ role: "system", text: expect.stringContaining("kanban_block") });
      expect(JSON.stringify(first)).toContain("Say where you are");
    },
    LONG,
  );

  test(
    "board C7, B6.29, G20: is reminded twice that it has not finished, and then its run is a protocol violation",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [{ text: "I think that is all.", times: 9 }] });
      await lab.addProfile("late", { answers: [{ text: "All done." }, complete] });
      const forgetful = await start(lab, "forgotten");
      const late = await start(lab, "remembered", { assignee: "late" });
      expect(await lab.ended(late.claimed)).toMatchObject({ outcome: "completed" });
      expect(await lab.ended(forgetful.claimed)).toMatchObject({
        outcome: "protocol_violation",
        error: expect.stringContaining("I think that is all."),
      });
      const messages = await messagesOf(lab, "coder", forgetful.claimed);
      expect(messages.filter(({ role }) => role === "user")).toHaveLength(3);
    },
    LONG,
  );

  test(
    "B6.27, B6.28, C7, G21, G22: quota, refused key, exhausted budget and an ordinary failure are told apart",
    async () => {
      await using lab = await openWorkerLab({ variables: { HERMES_KANBAN_STOP_NUDGE: "0" } });
      const failing = (kind: string) => ({ answers: [{ text: "well", fail: { kind } }] });
      await lab.addProfile("quota", failing("quota"));
      await lab.addProfile("auth", failing("auth"));
      await lab.addProfile("broken", failing("refused"));
      await lab.addProfile("idle", { answers: [{ text: "no" }] });
      await lab.addProfile(
        "budget",
        { answers: [{ ...shell("true"), times: 9 }] },
        { settings: "agent:\n  max_turns: 2\n" },
      );
      const outcomes: Record<string, string> = {
        quota: "rate_limited",
        auth: "gave_up",
        broken: "crashed",
        budget: "budget_exhausted",
        idle: "protocol_violation",
      };
      for (const [assignee, outcome] of Object.entries(outcomes)) {
        const { claimed } = await start(lab, assignee, { assignee });
        expect(await lab.ended(claimed), assignee).toMatchObject({ outcome });
        const { task } = await lab.store.show(claimed.task.id, never);
        const isGivenUp = assignee === "auth";
        expect(task, assignee).toMatchObject({
          status: isGivenUp ? "blocked" : "ready",
          block_sticky: isGivenUp,
          consecutive_failures: assignee === "quota" ? 0 : 1,
        });
        if (assignee === "idle") {
          const messages = await messagesOf(lab, "idle", claimed);
          expect(messages.filter(({ role }) => role === "user")).toHaveLength(1);
        }
      }
    },
    LONG,
  );

  test(
    "G43, #64447: a comment that arrives while it works reaches it after the tool, and that is recorded",
    async () => {
      await using lab = await openWorkerLab();
      const wait = "touch began; while [ ! -e go ]; do sleep 0.1; done";
      await lab.addProfile("coder", { answers: [shell(wait), complete] });
      const { claimed, path } = await start(lab, "listen");
      await eventually(() => isThere(path("began")));
      const comment = await lab.operator.comment(claimed.task.id, "use the blue one", never);
      await writeFile(path("go"), "");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed" });
      const steers = (await messagesOf(lab, "coder", claimed)).filter(
        (message) => message.role === "user" && message.kind === "steer",
      );
      expect(JSON.stringify(steers)).toContain("use the blue one");
      const { events } = await lab.store.show(claimed.task.id, never);
      expect(events.map(({ payload }) => payload["note"])).toContain(`read comment ${comment.id}`);
    },
    LONG,
  );

  test(
    "board H8: the run after a crash goes on in the session of the one before",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", {
        answers: [shell("touch began; sleep 300"), { text: "interrupted" }],
        turns: [{ when: "This is a new run", answers: [complete] }],
      });
      const first = await start(lab, "resume me");
      await eventually(() => isThere(first.path("began")));
      const { worker_pid } = await lab.findRun(first.claimed.run.id);
      process.kill(worker_pid ?? 0, "SIGKILL");
      expect(await lab.ended(first.claimed)).toMatchObject({
        outcome: "crashed",
        error: expect.stringContaining("SIGKILL"),
      });
      await eventually(async () => {
        const { task } = await lab.store.show(first.claimed.task.id, never);
        return task.status === "ready" && (task.not_before ?? 0) <= Date.now();
      });
      const again = await lab.claim(first.claimed.task.id);
      await lab.host.start(again, never);
      const run = await lab.ended(again);
      expect(run).toMatchObject({ outcome: "completed" });
      expect(run.session_id).toBe((await lab.findRun(first.claimed.run.id)).session_id);
    },
    LONG,
  );

  test(
    "board C7, G6, #59799: told to end, it ends with 143 within moments, and its task is not blamed",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [shell("touch began; sleep 300")] });
      const { claimed, path } = await start(lab, "stop");
      await eventually(() => isThere(path("began")));
      const { worker_pid } = await lab.findRun(claimed.run.id);
      process.kill(worker_pid ?? 0, "SIGTERM");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "infra_killed" });
      await eventually(async () => (await lab.logOf(claimed)).includes("exit 143")); // written after the end
      const { task } = await lab.store.show(claimed.task.id, never);
      expect(task).toMatchObject({ consecutive_failures: 0, status: "ready" });
    },
    LONG,
  );

  test(
    "board C2, G41, #34619: has its own profile's settings, and neither the dispatcher's secrets nor the token in any environment",
    async () => {
      const canary = "canary-4711-of-the-dispatcher";
      await using lab = await openWorkerLab({
        variables: {
          OPENAI_API_KEY: canary,
          MY_PASSWORD: canary,
          TERMINAL_CWD: `/${canary}`,
          HERMES_TUI: canary,
        },
      });
      await writeFile(join(lab.root, ".env"), `ROOT_SECRET=${canary}\n`, { mode: 0o600 });
      const look =
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' > all.txt; env > env.txt; touch looked; sleep 300";
      await lab.addProfile("coder", { answers: [shell(look)] });
      const { claimed, path, workspace } = await start(lab, "look around");
      await eventually(() => isThere(path("looked")));
      const [all, env] = await Promise.all([
        readFile(path("all.txt"), "utf8"),
        readFile(path("env.txt"), "utf8"),
      ]);
      expect(all).toContain(`HERMES_KANBAN_RUN_ID=${claimed.run.id}\n`); // it did see the processes of the run
      expect(all).not.toContain(canary);
      expect(all).not.toContain(claimed.token);
      expect(env).toContain(`HERMES_HOME=${join(lab.root, "profiles", "coder")}\n`);
      expect(env).toContain(`PWD=${workspace}\n`);
    },
    LONG,
  );

  test(
    "B6.13, B6.14: without a profile or a workspace nothing is started, and the reason is told",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", {});
      const ghost = await lab.claim((await lab.add("haunted", { assignee: "ghost" })).id);
      expect(await lab.host.start(ghost, never)).toMatchObject({ kind: "failed", cause: "spawn" });
      const nowhere = await lab.add("nowhere", { workspaceKind: "dir", workspacePath: "/dev/null/folder" });
      const claimed = await lab.claim(nowhere.id);
      expect(await lab.host.start(claimed, never)).toMatchObject({
        kind: "failed",
        cause: "workspace",
        error: expect.stringMatching(/folder/),
      });
      for (const one of [ghost, claimed]) {
        expect(await lab.supervisorsOf(one)).toEqual([]);
        expect(await lab.processesOf(one)).toEqual([]);
      }
    },
    LONG,
  );

  test(
    "a profile whose settings are broken when its worker starts ends the run with the reason",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", {});
      const claimed = await lab.claim((await lab.add("late")).id);
      const home = join(lab.root, "profiles", "coder");
      await rm(home, { recursive: true });
      await mkdir(home);
      await writeFile(join(home, "config.yaml"), "model:\n  provider: scripted\n  default: /nowhere\n");
      await lab.host.start(claimed, never);
      const run = await lab.ended(claimed);
      expect(["crashed", "gave_up"]).toContain(run.outcome);
      expect(run.error).toContain("/nowhere");
    },
    LONG,
  );

  test(
    "a retry goes on with the session that failed, after the same failure twice with a new one, and with --fresh at once",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [shell("true")] }); // and then it has no more answers
      const { id } = await lab.add("fails");
      const sessionOfNextRun = async (): Promise<string | null> => {
        const claimed = await lab.claim(id);
        const started = await lab.host.start(claimed, never);
        if (started.kind === "failed") throw new Error(started.error);
        const { session_id, outcome } = await lab.ended(claimed);
        expect(outcome).toBe("crashed");
        await eventually(async () => (await lab.processesOf(claimed)).length === 0);
        return session_id;
      };
      const first = await sessionOfNextRun();
      await lab.operator.retry(id, { fresh: false }, never);
      expect(await sessionOfNextRun()).toBe(first);
      await lab.operator.retry(id, { fresh: false }, never);
      const second = await sessionOfNextRun();
      expect(second).not.toBe(first);
      await lab.operator.retry(id, { fresh: true }, never);
      expect([first, second]).not.toContain(await sessionOfNextRun());
    },
    LONG,
  );

  test(
    "the command line in a worker's shell acts as its run: it completes its own task and no other, and its token is not shown",
    async () => {
      await using lab = await openWorkerLab();
      const other = await lab.add("other");
      const program = PROGRAM.map((word) => `"${word}"`).join(" ");
      const actions = [
        "complete OTHER",
        "archive OTHER",
        "assign OTHER coder",
        "reclaim OTHER",
        "dispatch",
        "repair",
      ];
      // Neither without the variable, nor with an emptied environment, nor in the name of another task.
      const hidden = [
        "env -u HERMES_KANBAN_TASK",
        `env -i PATH="$PATH" HOME="$HOME" HERMES_HOME="${lab.place.root}" HERMES_KANBAN_BOARD=${lab.place.slug}`,
        `env HERMES_KANBAN_TASK=${other.id}`,
      ].map((lead) => `${lead} ${program} kanban complete OTHER`);
      const refused = [...actions.map((words) => `${program} kanban ${words}`), ...hidden]
        .map((words) => words.replaceAll("OTHER", other.id))
        .map((words) => `{ ${words} && echo GRANTED; }`)
        .join("; ");
      await lab.addProfile("coder", {
        answers: [
          shell(
            `(${refused}; env) > refusals.txt 2>&1; ${program} kanban comment ${other.id} hello --author boss`,
          ),
          shell(
            `cp refusals.txt "${lab.folder.path}"; ${program} kanban complete $HERMES_KANBAN_TASK --summary "by hand"`,
          ),
        ],
      });
      const { claimed } = await start(lab, "own");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed", summary: "by hand" });
      const { task, comments } = await lab.store.show(other.id, never);
      expect(task).toMatchObject({ status: "ready", assignee: "coder" });
      expect(comments).toMatchObject([{ author: "coder", body: "hello" }]);
      const said = await readFile(join(lab.folder.path, "refusals.txt"), "utf8");
      expect(said).not.toContain("GRANTED");
      expect(said).not.toContain(claimed.token);
      expect(said).toContain(`The run of #${claimed.task.seq} may not change #${other.seq}.`);
    },
    LONG,
  );

  test(
    "#21147, #113612: dies with its supervisor, commands included; the lease then expires and the run is found dead",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [shell("touch began; sleep 300")] });
      const { claimed, path, supervisorPid } = await start(lab, "orphan");
      await eventually(() => isThere(path("began")));
      const run = await lab.findRun(claimed.run.id);
      expect(await lab.host.isAlive(run, never)).toBe("alive");
      process.kill(supervisorPid ?? 0, "SIGKILL");
      await eventually(async () => (await lab.processesOf(claimed)).length === 0);
      expect(await lab.host.isAlive(run, never)).toBe("dead");
      expect(await lab.findRun(claimed.run.id)).toMatchObject({ ended_at: null });
      lab.expireLease(claimed);
      expect(await lab.store.expiredRuns(0, never)).toHaveLength(1);
      expect(await lab.host.terminate(run, never)).toBe("gone");
      expect(await lab.system.reclaimExpired(claimed.run.id, 0, never)).toBe(true);
    },
    LONG,
  );
});

describeWith("postgres", "a board in PostgreSQL", ({ url }) => {
  test(
    "its tasks are worked off too, by a worker whose commands do not see the address of the database",
    async () => {
      await using board = await openPostgresLab(url);
      const { databaseUrl, slug } = board.place;
      await using lab = await openWorkerLab({ databaseUrl, slug });
      await lab.addProfile("coder", {
        answers: [
          shell("env > env.txt"),
          call("kanban_complete", { summary: "done", artifacts: ["env.txt"] }),
        ],
      });
      const { claimed } = await start(lab, "far away");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed" });
      const { attachments } = await lab.store.show(claimed.task.id, never);
      const [attachment] = attachments;
      const content = await lab.store.attachmentPart(attachment?.content_key ?? "", 0, never);
      const env = Buffer.from(content ?? []).toString("utf8");
      expect(env).toContain(`HERMES_KANBAN_BOARD=${slug}\n`);
      expect(env).not.toContain("postgres");
    },
    LONG,
  );
});

describe("a supervisor", () => {
  test(
    "B6.25, G20: tells by the exit of its worker how the run ended",
    async () => {
      await using lab = await openWorkerLab();
      const cases: readonly (readonly [string, string])[] = [
        ["exit 0", "protocol_violation"],
        ["exit 75", "rate_limited"],
        ["exit 3", "budget_exhausted"],
        ["exit 143", "infra_killed"],
        ["echo because of this >&2; exit 9", "crashed"],
        ["kill -SEGV $$", "crashed"],
        ["kill -TERM $$", "infra_killed"],
      ];
      const claims = new Map<string, ClaimedTask>();
      for (const [script] of cases) {
        const claimed = await lab.claim((await lab.add(script)).id);
        claims.set(script, claimed);
        await lab.superviseScript(claimed, script);
      }
      for (const [script, outcome] of cases) {
        const claimed = claims.get(script);
        if (claimed === undefined) throw new Error("not claimed");
        expect(await lab.ended(claimed), script).toMatchObject({ outcome });
      }
      const failed = claims.get("echo because of this >&2; exit 9");
      expect(await lab.findRun(failed?.run.id ?? 0)).toMatchObject({
        error: "the worker ended with code 9\nbecause of this",
      });
    },
    LONG,
  );

  test(
    "B6.30, G3, #80280: kills a worker that ignores TERM when its time is over, and whatever forked away from it",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("stubborn", { maxRuntimeSeconds: 5 })).id);
      const script = `trap '' TERM
        setsid bash -c "trap '' TERM; while :; do sleep 0.2; done" &
        ( setsid bash -c '(sleep 300 &) ' & )
        while :; do sleep 0.2; done`;
      await lab.superviseScript(claimed, script);
      const isOver = async () => (await lab.findRun(claimed.run.id)).ended_at !== null;
      // Where programs take long to start, its time may be over before all of them have.
      await eventually(
        async () =>
          new Set((await lab.processesOf(claimed)).map(({ group }) => group)).size >= 3 || (await isOver()),
      );
      await eventually(isOver);
      expect(await lab.processesOf(claimed)).toEqual([]); // before the end was written, not some time later
      expect(await lab.findRun(claimed.run.id)).toMatchObject({ outcome: "timed_out" });
    },
    LONG,
  );

  test(
    "G3: ends what a worker has started with an emptied environment",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("bare")).id);
      const beat = "trap '' TERM; while :; do echo >> beats; sleep 0.1; done";
      const { supervisorPid, cwd } = await lab.superviseScript(
        claimed,
        `setsid bash -c 'env -i PATH="$PATH" bash -c "${beat}"; true' & wait`,
      );
      const beats = async () => (await readFile(join(cwd, "beats"), "utf8").catch(() => "")).length;
      await eventually(async () => (await beats()) > 2);
      process.kill(supervisorPid, "SIGTERM");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "infra_killed" });
      const before = await beats();
      await sleep(500); // a window in which nothing may happen
      expect(await beats()).toBe(before);
    },
    LONG,
  );

  test(
    "G3: leaves nothing behind of a worker that ended by itself",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("litter")).id);
      await lab.superviseScript(
        claimed,
        "sleep 300 & setsid sleep 300 & setsid bash -c 'sleep 300 & ' ; exit 7",
      );
      await eventually(async () => (await lab.findRun(claimed.run.id)).ended_at !== null);
      expect(await lab.processesOf(claimed)).toEqual([]);
    },
    LONG,
  );

  test(
    "board C9: keeps a worker's output within bounds however much it prints, and its end is still there",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("chatter")).id);
      await lab.superviseScript(
        claimed,
        "head -c 60000000 /dev/zero | tr '\\0' x; echo; echo the end; exit 5",
      );
      expect(await lab.ended(claimed)).toMatchObject({ error: expect.stringMatching(/the end$/) });
      await eventually(async () => (await lab.logOf(claimed)).includes("exit 5"));
      const parts = logParts(runLogPath(lab.root, "default", claimed.task.id, claimed.run.id));
      const sizes = await Promise.all(parts.map(async (part) => (await stat(part)).size));
      expect(Math.max(...sizes)).toBeLessThanOrEqual(64 * 1024);
      expect(sizes.length).toBe(2);
    },
    LONG,
  );

  test(
    "board C7: told to end, it ends its worker for sure and says that the machine did it",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("deploy")).id);
      const { supervisorPid, cwd } = await lab.superviseScript(
        claimed,
        "trap 'touch asked; exit 143' TERM; setsid sleep 300 & touch began; while :; do sleep 0.1; done",
      );
      await eventually(() => isThere(join(cwd, "began")));
      process.kill(supervisorPid, "SIGTERM");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "infra_killed" });
      expect(await isThere(join(cwd, "asked"))).toBe(true);
      await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
    },
    LONG,
  );

  test(
    "G3, #21141: a new run ends what an earlier one of its task has left on the machine",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [complete] });
      const claimed = await lab.claim((await lab.add("twice")).id);
      const { supervisorPid } = await lab.superviseScript(
        claimed,
        "setsid sleep 300 & while :; do sleep 0.1; done",
      );
      process.kill(supervisorPid, "SIGKILL"); // this worker does not look at the pipe
      await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
      lab.expireLease(claimed);
      await lab.system.reclaimExpired(claimed.run.id, 0, never);
      expect(await lab.processesOf(claimed)).not.toEqual([]);
      const next = await lab.claim(claimed.task.id);
      await lab.host.start(next, never);
      expect(await lab.processesOf(claimed)).toEqual([]);
      expect(await lab.ended(next)).toMatchObject({ outcome: "completed" });
    },
    LONG,
  );

  test(
    "B6.22, G2: is found by its run alone and ended with all it started; a reused pid is never signalled",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("found")).id);
      await lab.superviseScript(claimed, "setsid sleep 300 & while :; do sleep 0.1; done");
      const run = await lab.findRun(claimed.run.id);
      const bystander = spawn("sleep", ["300"]);
      try {
        const foreign = { ...run, id: 999, worker_identity: null, supervisor_pid: bystander.pid ?? 0 };
        expect(await lab.host.isAlive(foreign, never)).toBe("unknown");
        expect(await lab.host.terminate(foreign, never)).toBe("unknown");
        expect(bystander.exitCode).toBeNull();
        expect(await lab.host.isAlive(run, never)).toBe("alive");
        expect(await lab.host.terminate(run, never)).toBe("gone");
        expect(await lab.processesOf(claimed)).toEqual([]);
        expect(await lab.supervisorsOf(claimed)).toEqual([]);
        expect(bystander.kill(0)).toBe(true);
      } finally {
        bystander.kill("SIGKILL");
      }
    },
    LONG,
  );

  test(
    "G36, #113612: survives the process that started it",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [complete] });
      const claimed = await lab.claim((await lab.add("alone")).id);
      const child = bundleOf(new URL("../support/worker-child.ts", import.meta.url));
      const { place, folder, store } = lab;
      const input = JSON.stringify({
        claimed,
        place,
        board: store.identity,
        program: PROGRAM,
        home: folder.path,
      });
      const dispatcher = spawn(process.execPath, [child, input], { stdio: "inherit" });
      const [exitCode] = (await once(dispatcher, "exit")) as unknown[];
      expect(exitCode).toBe(0);
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed" });
    },
    LONG,
  );
});

// At the same time, because they mostly wait.
describe.concurrent("a lease that runs out", () => {
  test(
    "a worker ends itself before that when its supervisor is halted",
    async () => {
      await using lab = await openWorkerLab({ leaseMs: SHORT_LEASE_MS });
      await lab.addProfile("coder", { answers: [shell("touch began; sleep 300")] });
      const { claimed, path, supervisorPid } = await start(lab, "halted");
      await eventually(() => isThere(path("began")));
      process.kill(supervisorPid ?? 0, "SIGSTOP");
      await eventually(async () => (await lab.processesOf(claimed)).length === 0);
      expect(await lab.supervisorsOf(claimed)).toHaveLength(1); // nobody but the worker itself can have done it
    },
    LONG,
  );

  test(
    "G4, #95212: a supervisor kills its worker when the run is taken away, and writes nothing over what others wrote",
    async () => {
      await using lab = await openWorkerLab({ leaseMs: SHORT_LEASE_MS });
      const claimed = await lab.claim((await lab.add("taken away")).id);
      await lab.superviseScript(claimed, "trap '' TERM; while :; do sleep 0.1; done");
      await lab.operator.release(claimed.task.id, "mine", never);
      await eventually(async () => (await lab.processesOf(claimed)).length === 0);
      await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
      expect(await lab.findRun(claimed.run.id)).toMatchObject({ outcome: "released" });
    },
    LONG,
  );

  test(
    "a supervisor that was halted kills its worker first of all when it wakes, and its writes are refused",
    async () => {
      await using lab = await openWorkerLab({ leaseMs: SHORT_LEASE_MS });
      const claimed = await lab.claim((await lab.add("frozen")).id);
      const { supervisorPid } = await lab.superviseScript(claimed, "while :; do sleep 0.1; done");
      process.kill(supervisorPid, "SIGSTOP");
      await eventually(async () => (await lab.store.expiredRuns(0, never)).length === 1);
      expect(await lab.system.reclaimExpired(claimed.run.id, 0, never)).toBe(true);
      const next = await lab.claim(claimed.task.id);
      const old = lab.store.as({
        kind: "run",
        profile: "coder",
        taskId: claimed.task.id,
        runId: claimed.run.id,
        token: claimed.token,
      });
      expect(await codeOf(old.complete(claimed.task.id, { summary: "late" }, never))).toBe("run-superseded");
      expect(await lab.processesOf(claimed)).not.toEqual([]);
      process.kill(supervisorPid, "SIGCONT");
      await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
      expect(await lab.processesOf(claimed)).toEqual([]);
      expect(await lab.findRun(claimed.run.id)).toMatchObject({ outcome: "reclaimed" });
      expect(await lab.findRun(next.run.id)).toMatchObject({ ended_at: null });
    },
    LONG,
  );
});

test(
  "board D1: kanban log prints what a worker printed, of the last run or another, and follows it to its end",
  async () => {
    await using lab = await openWorkerLab();
    const claimed = await lab.claim((await lab.add("talk")).id);
    const { cwd } = await lab.superviseScript(
      claimed,
      "echo first; while [ ! -e go ]; do sleep 0.1; done; echo second; exit 9",
    );
    const log = (...args: string[]) =>
      spawn(PROGRAM[0], [PROGRAM[1], "kanban", "log", claimed.task.id, ...args], {
        env: { PATH: process.env["PATH"], HOME: lab.folder.path, HERMES_HOME: lab.root },
        stdio: ["ignore", "pipe", "inherit"],
      });
    const follower = log("--follow", "--run", String(claimed.run.id));
    let text = "";
    follower.stdout.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    await eventually(() => text.includes("first"));
    await writeFile(join(cwd, "go"), "");
    expect(await once(follower, "close")).toEqual([0, null]);
    expect(text).toMatch(/first\nsecond\n/);
    await eventually(async () => (await lab.logOf(claimed)).includes("exit 9"));
    const tail = log("--tail", "200");
    let end = "";
    tail.stdout.setEncoding("utf8").on("data", (piece: string) => {
      end += piece;
    });
    await once(tail, "close");
    expect(end).toContain("exit 9; crashed");
  },
  LONG,
);
