import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { boardPath } from "../../src/board/board-slug.ts";
import type { ClaimedTask } from "../../src/board/operations/runs/claim.ts";
import { logParts, runLogPath, taskLogFolder } from "../../src/board/supervisor/log/run-log.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { codeOf, openPostgresLab } from "../support/board-lab.ts";
import { bundleOf } from "../support/child.ts";
import { describeWith } from "../support/services.ts";
import { eventually, openWorkerLab, PROGRAM, SHORT_LEASE_MS } from "../support/worker-lab.ts";

const LONG = 300_000;

type Lab = Awaited<ReturnType<typeof openWorkerLab>>;

const call = (name: string, input: object, more: object = {}) => ({ tools: [{ name, input }], ...more });
const shell = (command: string) => call("terminal", { command });
const complete = call("kanban_complete", { summary: "done" });
const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Starts the real worker of a new task. */
async function start(lab: Lab, title: string, details: Parameters<Lab["add"]>[1] = {}) {
  const claimed = await lab.claim((await lab.add(title, details)).id);
  const started = await lab.host.start(claimed, neverAborted);
  if (started.kind === "failed") throw new Error(started.error);
  return { claimed, ...started, path: (name: string) => join(started.workspace, name) };
}

async function messagesOf(lab: Lab, profile: string, { run }: ClaimedTask) {
  const { session_id } = await lab.findRun(run.id);
  using sessions = await openSessionStore(
    join(lab.root, "profiles", profile, "sessions.sqlite"),
    {},
    neverAborted,
  );
  return sessions.loadSession(session_id ?? "").messages;
}

describe("a worker that is the agent", () => {
  test(
    "board C1, C3, C7: completes a task in its workspace and creates no task that could not start; its run has session, usage, artifact and log",
    async () => {
      await using lab = await openWorkerLab();
      const impossible = [{ model: "m", provider: "opnrouter" }, { workspace_kind: "worktree" }].map(
        (wrong) => ({
          name: "kanban_create",
          input: { title: "child", assignee: "coder", ...wrong },
        }),
      );
      const [write] = shell("pwd > where.txt; cp where.txt result.txt").tools;
      await lab.addProfile("coder", {
        answers: [
          { tools: [write, ...impossible], usage: { input: 100, output: 10 } },
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
      const { task, attachments } = await lab.store.show(claimed.task.id, neverAborted);
      expect(task.status).toBe("done");
      expect(await readFile(attachments[0]?.stored_path ?? "", "utf8")).toBe(`${workspace}\n`);
      await eventually(async () =>
        (await lab.logOf(claimed)).includes("exit 0; the run had ended: completed"),
      );
      const messages = await messagesOf(lab, "coder", claimed);
      const [system, first] = messages;
      expect(system).toMatchObject({ role: "system", text: expect.stringContaining("kanban_block") });
      expect(JSON.stringify(first)).toContain("Say where you are");
      const said = JSON.stringify(messages);
      expect(said).toContain("There is no provider named opnrouter.");
      expect(said).toContain("A worktree needs a repository");
      expect((await lab.store.list({}, neverAborted)).tasks).toHaveLength(1);
    },
    LONG,
  );

  test(
    "board C3: gets the images that the body of its task names by path and by address, and a notice about one that is refused",
    async () => {
      await using lab = await openWorkerLab();
      const picture = Buffer.from("89504e470d0a1a0a0000000d494844520000001000000010", "hex");
      const site = createServer((_, response) =>
        response.setHeader("content-type", "image/png").end(picture),
      );
      await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
      try {
        await writeFile(join(lab.root, "shot.png"), picture);
        const link = `/tmp/hermes-test-${randomUUID()}`; // a path in a text has no spaces, but the temporary folder may
        await symlink(lab.root, link);
        await using _link = { [Symbol.asyncDispose]: () => rm(link) };
        const file = join(link, "shot.png");
        const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}/shot.png`;
        const settings = "security:\n  allow_private_urls: true\n";
        await lab.addProfile("coder", { answers: [complete] }, { settings });
        await lab.addProfile("careful", { answers: [complete] });
        const body = `Compare ${file} with ${address}.`;
        const images = async (profile: string, claimed: ClaimedTask) => {
          expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed" });
          const [, first] = await messagesOf(lab, profile, claimed);
          return first?.role === "user" ? first.parts.filter(({ type }) => type === "image") : [];
        };
        const part = { type: "image", mediaType: "image/png", data: picture.toString("base64") };
        const allowed = await start(lab, "compare", { body });
        const refused = await start(lab, "compare", { body, assignee: "careful" });
        expect(await images("coder", allowed.claimed)).toEqual([part, part]);
        expect(await images("careful", refused.claimed)).toEqual([part]);
        await eventually(async () =>
          (await lab.logOf(refused.claimed)).includes(`${address} is not sent as an image: `),
        );
      } finally {
        site.close();
      }
    },
    LONG,
  );

  test(
    "board C7, B6.29, G20: is reminded twice that its task is not finished, and then its run is a protocol violation",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [{ text: "I think that is all.", times: 9 }] });
      await lab.addProfile("late", { answers: [{ text: "All done." }, complete] });
      const reminded = await start(lab, "forgotten");
      const late = await start(lab, "remembered", { assignee: "late" });
      expect(await lab.ended(late.claimed)).toMatchObject({ outcome: "completed" });
      expect(await lab.ended(reminded.claimed)).toMatchObject({
        outcome: "protocol_violation",
        error: expect.stringContaining("I think that is all."),
      });
      const messages = await messagesOf(lab, "coder", reminded.claimed);
      expect(messages.filter(({ role }) => role === "user")).toHaveLength(3);
    },
    LONG,
  );

  test(
    "B6.27, B6.28, C7, G21, G22: quota, refused key, exhausted budget and an ordinary failure are distinguished",
    async () => {
      await using lab = await openWorkerLab({ variables: { HERMES_KANBAN_STOP_NUDGE: "0" } });
      const failingScript = (kind: string) => ({ answers: [{ text: "well", fail: { kind } }] });
      await lab.addProfile("quota", failingScript("quota"));
      await lab.addProfile("auth", failingScript("auth"));
      await lab.addProfile("broken", failingScript("refused"));
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
      const claims = new Map<string, ClaimedTask>();
      for (const assignee of Object.keys(outcomes))
        claims.set(assignee, (await start(lab, assignee, { assignee })).claimed);
      for (const [assignee, claimed] of claims) {
        expect(await lab.ended(claimed), assignee).toMatchObject({ outcome: outcomes[assignee] });
        const { task } = await lab.store.show(claimed.task.id, neverAborted);
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
    "G43: a comment that arrives during a run reaches the worker after the current tool call, and that is recorded",
    async () => {
      await using lab = await openWorkerLab();
      const wait = "touch started; while [ ! -e go ]; do sleep 0.1; done";
      await lab.addProfile("coder", { answers: [shell(wait), complete] });
      const { claimed, path } = await start(lab, "listen");
      await eventually(() => exists(path("started")));
      const comment = await lab.operator.comment(claimed.task.id, "use the blue one", neverAborted);
      await writeFile(path("go"), "");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed" });
      const steers = (await messagesOf(lab, "coder", claimed)).filter(
        (message) => message.role === "user" && message.kind === "steer",
      );
      expect(JSON.stringify(steers)).toContain("use the blue one");
      const { events } = await lab.store.show(claimed.task.id, neverAborted);
      expect(events.map(({ payload }) => payload["note"])).toContain(`read comment ${comment.id}`);
    },
    LONG,
  );

  test(
    "board H8: the run after a crash resumes the session of the previous run",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", {
        answers: [shell("touch started; sleep 300"), { text: "interrupted" }],
        turns: [{ when: "This is a new run", answers: [complete] }],
      });
      const first = await start(lab, "resume me");
      await eventually(() => exists(first.path("started")));
      const { worker_pid } = await lab.findRun(first.claimed.run.id);
      process.kill(worker_pid ?? 0, "SIGKILL");
      expect(await lab.ended(first.claimed)).toMatchObject({
        outcome: "crashed",
        error: expect.stringContaining("SIGKILL"),
      });
      await lab.unguard(first.claimed.task.id); // the pause after a failure has its own tests
      const again = await lab.claim(first.claimed.task.id);
      await lab.host.start(again, neverAborted);
      const run = await lab.ended(again);
      expect(run).toMatchObject({ outcome: "completed" });
      expect(run.session_id).toBe((await lab.findRun(first.claimed.run.id)).session_id);
    },
    LONG,
  );

  test(
    "board C7, G6: after TERM it soon exits with 143, which does not count against its task",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [shell("touch started; sleep 300")] });
      const { claimed, path } = await start(lab, "stop");
      await eventually(() => exists(path("started")));
      const { worker_pid } = await lab.findRun(claimed.run.id);
      process.kill(worker_pid ?? 0, "SIGTERM");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "infra_killed" });
      await eventually(async () => (await lab.logOf(claimed)).includes("exit 143")); // written after the exit
      const { task } = await lab.store.show(claimed.task.id, neverAborted);
      expect(task).toMatchObject({ consecutive_failures: 0, status: "ready" });
    },
    LONG,
  );

  test(
    "board C2, G41: has its own profile's settings, and neither the dispatcher's secrets nor the token in any environment",
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
      const inspect =
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' > all.txt; env > env.txt; touch inspected; sleep 300";
      await lab.addProfile("coder", { answers: [shell(inspect)] });
      const { claimed, path, workspace } = await start(lab, "inspect");
      await eventually(() => exists(path("inspected")));
      const [all, env] = await Promise.all([
        readFile(path("all.txt"), "utf8"),
        readFile(path("env.txt"), "utf8"),
      ]);
      expect(all).toContain(`HERMES_KANBAN_RUN_ID=${claimed.run.id}\n`); // proves that the processes of the run were inspected
      expect(all).not.toContain(canary);
      expect(all).not.toContain(claimed.token);
      expect(env).toContain(`HERMES_HOME=${join(lab.root, "profiles", "coder")}\n`);
      expect(env).toContain(`PWD=${workspace}\n`);
    },
    LONG,
  );

  test(
    "B6.13, B6.14: without a profile or a workspace nothing is started, and the reason is reported",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", {});
      const ghost = await lab.claim((await lab.add("haunted", { assignee: "ghost" })).id);
      expect(await lab.host.start(ghost, neverAborted)).toMatchObject({ kind: "failed", cause: "spawn" });
      const nowhere = await lab.add("nowhere", { workspaceKind: "dir", workspacePath: "/dev/null/folder" });
      const claimed = await lab.claim(nowhere.id);
      expect(await lab.host.start(claimed, neverAborted)).toMatchObject({
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
    "a profile with invalid settings at the start of its worker ends the run with the reason",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", {});
      const claimed = await lab.claim((await lab.add("late")).id);
      const home = join(lab.root, "profiles", "coder");
      await rm(home, { recursive: true });
      await mkdir(home);
      await writeFile(join(home, "config.yaml"), "model:\n  provider: scripted\n  default: /nowhere\n");
      await lab.host.start(claimed, neverAborted);
      const run = await lab.ended(claimed);
      expect(["crashed", "gave_up"]).toContain(run.outcome);
      expect(run.error).toContain("/nowhere");
    },
    LONG,
  );

  test(
    "a retry resumes the failed session; after the same failure twice, or with --fresh, it starts a new session",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [shell("true")] }); // the script has no further answers
      const { id } = await lab.add("fails");
      const sessionOfNextRun = async (): Promise<string | null> => {
        const claimed = await lab.claim(id);
        const started = await lab.host.start(claimed, neverAborted);
        if (started.kind === "failed") throw new Error(started.error);
        const { session_id, outcome } = await lab.ended(claimed);
        expect(outcome).toBe("crashed");
        await eventually(async () => (await lab.processesOf(claimed)).length === 0);
        return session_id;
      };
      const first = await sessionOfNextRun();
      await lab.operator.retry(id, { fresh: false }, neverAborted);
      expect(await sessionOfNextRun()).toBe(first);
      await lab.operator.retry(id, { fresh: false }, neverAborted);
      const second = await sessionOfNextRun();
      expect(second).not.toBe(first);
      await lab.operator.retry(id, { fresh: true }, neverAborted);
      expect([first, second]).not.toContain(await sessionOfNextRun());
    },
    LONG,
  );

  test(
    "the command line in a worker's shell acts as its run: it completes only its own task, and its token is not shown",
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
      // Also without the variable, with a cleared environment, and with the id of another task.
      const hidden = [
        "env -u HERMES_KANBAN_TASK",
        `env -i PATH="$PATH" HOME="$HOME" HERMES_HOME="${lab.location.root}" HERMES_KANBAN_BOARD=${lab.location.slug}`,
        `env HERMES_KANBAN_TASK=${other.id}`,
      ].map((lead) => `${lead} ${program} kanban complete OTHER`);
      const refused = [...actions.map((words) => `${program} kanban ${words}`), ...hidden]
        .map((words) => words.replaceAll("OTHER", other.id))
        .map((words) => `{ ${words} && echo GRANTED; }`)
        .join("; ");
      await lab.addProfile(
        "coder",
        {
          answers: [
            shell(
              `(${refused}; env) > refusals.txt 2>&1; ${program} kanban comment ${other.id} hello --author boss`,
            ),
            shell(
              `cp refusals.txt "${lab.folder.path}"; ${program} kanban complete $HERMES_KANBAN_TASK --summary "by hand"`,
            ),
          ],
        },
        // The program itself must refuse, so nothing is asked before it starts.
        { settings: "approvals:\n  mode: off\n" },
      );
      const { claimed } = await start(lab, "own");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed", summary: "by hand" });
      const { task, comments } = await lab.store.show(other.id, neverAborted);
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
    "a worker cannot raise the number of tasks that it may create by flag, variable, profile or settings",
    async () => {
      await using lab = await openWorkerLab();
      const program = PROGRAM.map((word) => `"${word}"`).join(" ");
      const attempts = [
        `${program} kanban create one`,
        `${program} --kanban.max_children_per_task 100 kanban create two`,
        `HERMES_KANBAN_MAX_CHILDREN_PER_TASK=100 ${program} kanban create three`,
        `HERMES_KANBAN_MAX_CHILDREN_PER_TASK=100 ${program} -p default kanban create four`,
        `${program} config set kanban.max_children_per_task 100; ${program} kanban create five`,
      ];
      await lab.addProfile("coder", {
        answers: [
          shell(attempts.join("; ")),
          call("kanban_create", { title: "six", assignee: "coder" }),
          complete,
        ],
      });
      const { id } = await lab.add("own");
      const claimed = await lab.claim(id, { maxChildren: 1, maxDepth: 5 });
      const started = await lab.host.start(claimed, neverAborted);
      if (started.kind === "failed") throw new Error(started.error);
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed" });
      const { tasks } = await lab.store.list({}, neverAborted);
      expect(tasks.map(({ title }) => title)).toEqual(["own", "one"]);
    },
    LONG,
  );

  test(
    "G10, G36: a worker and its commands end with the supervisor; then the lease expires and the run is found dead",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [shell("touch started; sleep 300")] });
      const { claimed, path, supervisorPid } = await start(lab, "orphan");
      await eventually(() => exists(path("started")));
      const run = await lab.findRun(claimed.run.id);
      expect(await lab.host.isAlive(run, neverAborted)).toBe("alive");
      process.kill(supervisorPid ?? 0, "SIGKILL");
      await eventually(async () => (await lab.processesOf(claimed)).length === 0);
      // An exiting process no longer has an environment, but still counts as alive.
      await eventually(async () => (await lab.host.isAlive(run, neverAborted)) === "dead");
      expect(await lab.findRun(claimed.run.id)).toMatchObject({ ended_at: null });
      lab.expireLease(claimed);
      expect(await lab.store.expiredRuns(0, neverAborted)).toHaveLength(1);
      expect(await lab.host.terminate(run, neverAborted)).toBe("gone");
      expect(await lab.system.reclaimExpired(claimed.run.id, 0, neverAborted)).toBe(true);
    },
    LONG,
  );
});

describeWith("postgres", "a board in PostgreSQL", ({ url }) => {
  test(
    "its tasks are completed too, by a worker whose commands do not see the address of the database",
    async () => {
      await using board = await openPostgresLab(url);
      const { databaseUrl, slug } = board.location;
      await using lab = await openWorkerLab({ databaseUrl, slug });
      await lab.addProfile("coder", {
        answers: [
          shell("env > env.txt"),
          call("kanban_complete", { summary: "done", artifacts: ["env.txt"] }),
        ],
      });
      const { claimed } = await start(lab, "far away");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed" });
      const { attachments } = await lab.store.show(claimed.task.id, neverAborted);
      const [attachment] = attachments;
      const content = await lab.store.attachmentPart(attachment?.content_key ?? "", 0, neverAborted);
      const env = Buffer.from(content ?? []).toString("utf8");
      expect(env).toContain(`HERMES_KANBAN_BOARD=${slug}\n`);
      expect(env).not.toContain("postgres");
    },
    LONG,
  );

  test(
    "a user who ends a run ends its worker at once there too",
    async () => {
      await using board = await openPostgresLab(url);
      await endByUser({ databaseUrl: board.location.databaseUrl, slug: board.location.slug });
    },
    LONG,
  );

  test(
    "the command line in a worker's shell uses the board of its run, although no settings name the database",
    async () => {
      await using board = await openPostgresLab(url);
      const { databaseUrl, slug } = board.location;
      await using lab = await openWorkerLab({ databaseUrl, slug });
      const program = PROGRAM.map((word) => `"${word}"`).join(" ");
      await lab.addProfile("coder", {
        answers: [
          shell(
            `${program} kanban create "a child"; ${program} kanban complete $HERMES_KANBAN_TASK --summary "by hand"`,
          ),
        ],
      });
      const { claimed } = await start(lab, "own");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed", summary: "by hand" });
      const { tasks } = await lab.store.list({}, neverAborted);
      expect(tasks.map(({ title }) => title)).toContain("a child");
      const left = await readdir(taskLogFolder(lab.root, slug, claimed.task.id));
      expect(left.filter((name) => name.endsWith(".token"))).toEqual([]);
      expect(await exists(boardPath(lab.root, slug))).toBe(false);
    },
    LONG,
  );
});

/** No supervisor renews a lease of this length within a test, so it must learn in another way that its run has ended. */
const HOURS_MS = 10 * 3_600_000;

async function endByUser(location: { readonly databaseUrl?: string; readonly slug?: string }): Promise<void> {
  await using lab = await openWorkerLab({ leaseMs: HOURS_MS, ...location });
  const { operator } = lab;
  const moves: readonly ((id: string) => Promise<unknown>)[] = [
    (id) => operator.complete(id, { summary: "by hand" }, neverAborted),
    (id) => operator.block(id, "why?", undefined, neverAborted),
    (id) => operator.archive(id, neverAborted),
    (id) => operator.release(id, "mine", neverAborted),
  ];
  await Promise.all(
    moves.map(async (move, index) => {
      const claimed = await lab.claim((await lab.add(`task ${index}`)).id);
      await lab.superviseScript(claimed, "while :; do sleep 0.1; done");
      await move(claimed.task.id);
      await eventually(async () => (await lab.processesOf(claimed)).length === 0);
      await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
    }),
  );
}

// Concurrent, because these tests mostly wait for shell scripts, time limits and leases.
describe.concurrent("a supervisor", () => {
  test(
    "B6.25, G20: derives the outcome of the run from the exit of its worker",
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
    "B6.30, G3: kills a worker that ignores TERM after its maximum run time, and all processes that it forked",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("stubborn", { maxRuntimeSeconds: 5 })).id);
      const script = `trap '' TERM
        setsid bash -c "trap '' TERM; while :; do sleep 0.2; done" &
        ( setsid bash -c '(sleep 300 &) ' & )
        while :; do sleep 0.2; done`;
      await lab.superviseScript(claimed, script);
      const hasEnded = async () => (await lab.findRun(claimed.run.id)).ended_at !== null;
      // On a slow machine the maximum run time may end before all programs have started.
      await eventually(
        async () =>
          new Set((await lab.processesOf(claimed)).map(({ group }) => group)).size >= 3 || (await hasEnded()),
      );
      await eventually(hasEnded);
      expect(await lab.processesOf(claimed)).toEqual([]); // they had exited before the end was recorded
      expect(await lab.findRun(claimed.run.id)).toMatchObject({ outcome: "timed_out" });
    },
    LONG,
  );

  test(
    "G3: ends processes that a worker started with a cleared environment",
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
      await sleep(500); // nothing may be written in this time
      expect(await beats()).toBe(before);
    },
    LONG,
  );

  test(
    "a user who completes, blocks, archives or releases a task ends its worker at once, long before the next renewal of its lease",
    () => endByUser({}),
    LONG,
  );

  test(
    "a supervisor that receives TERM after the maximum run time reports that the worker ran longer than allowed",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("slow", { maxRuntimeSeconds: 3 })).id);
      await eventually(() => Date.now() > claimed.run.started_at + 3_000);
      const { supervisorPid } = await lab.superviseScript(claimed, "sleep 300");
      process.kill(supervisorPid, "SIGTERM"); // as a dispatcher does
      expect(await lab.ended(claimed)).toMatchObject({
        outcome: "timed_out",
        error: expect.stringContaining("the worker ran longer than 3 s"),
      });
    },
    LONG,
  );

  test(
    "G3: leaves no process of a worker that ended by itself",
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
    "board C9: keeps the log of a worker bounded however much it prints, including the end of the output",
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
    "board C7: a supervisor that receives TERM ends its worker in any case, and reports the host as the cause",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("deploy")).id);
      const { supervisorPid, cwd } = await lab.superviseScript(
        claimed,
        "trap 'touch terminated; exit 143' TERM; setsid sleep 300 & touch started; while :; do sleep 0.1; done",
      );
      await eventually(() => exists(join(cwd, "started")));
      process.kill(supervisorPid, "SIGTERM");
      expect(await lab.ended(claimed)).toMatchObject({ outcome: "infra_killed" });
      expect(await exists(join(cwd, "terminated"))).toBe(true);
      await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
    },
    LONG,
  );

  test(
    "G3: a new run ends the processes that an earlier run of its task left on the machine",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [complete] });
      const claimed = await lab.claim((await lab.add("twice")).id);
      const { supervisorPid } = await lab.superviseScript(
        claimed,
        "setsid sleep 300 & while :; do sleep 0.1; done",
      );
      process.kill(supervisorPid, "SIGKILL"); // this worker does not watch the pipe
      await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
      lab.expireLease(claimed);
      await lab.system.reclaimExpired(claimed.run.id, 0, neverAborted);
      expect(await lab.processesOf(claimed)).not.toEqual([]);
      const next = await lab.claim(claimed.task.id);
      await lab.host.start(next, neverAborted);
      expect(await lab.processesOf(claimed)).toEqual([]);
      expect(await lab.ended(next)).toMatchObject({ outcome: "completed" });
    },
    LONG,
  );

  test(
    "B6.22, G2: is found by its run only and ended with all its processes; a reused pid is never signalled",
    async () => {
      await using lab = await openWorkerLab();
      const claimed = await lab.claim((await lab.add("found")).id);
      await lab.superviseScript(claimed, "setsid sleep 300 & while :; do sleep 0.1; done");
      const run = await lab.findRun(claimed.run.id);
      const unrelated = spawn("sleep", ["300"]);
      try {
        const foreign = { ...run, id: 999, worker_identity: null, supervisor_pid: unrelated.pid ?? 0 };
        expect(await lab.host.isAlive(foreign, neverAborted)).toBe("unknown");
        expect(await lab.host.terminate(foreign, neverAborted)).toBe("unknown");
        expect(unrelated.exitCode).toBeNull();
        expect(await lab.host.isAlive(run, neverAborted)).toBe("alive");
        expect(await lab.host.terminate(run, neverAborted)).toBe("gone");
        expect(await lab.processesOf(claimed)).toEqual([]);
        expect(await lab.supervisorsOf(claimed)).toEqual([]);
        expect(unrelated.kill(0)).toBe(true);
      } finally {
        unrelated.kill("SIGKILL");
      }
    },
    LONG,
  );

  test(
    "G36: survives the process that started it",
    async () => {
      await using lab = await openWorkerLab();
      await lab.addProfile("coder", { answers: [complete] });
      const claimed = await lab.claim((await lab.add("alone")).id);
      const child = bundleOf(new URL("../support/worker-child.ts", import.meta.url));
      const { location, folder, store } = lab;
      const input = JSON.stringify({
        claimed,
        location,
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

  test(
    "if it is suspended, its worker ends itself before the lease expires",
    async () => {
      await using lab = await openWorkerLab({ leaseMs: SHORT_LEASE_MS });
      await lab.addProfile("coder", { answers: [shell("touch started; sleep 300")] });
      const { claimed, path, supervisorPid } = await start(lab, "halted");
      await eventually(() => exists(path("started")));
      process.kill(supervisorPid ?? 0, "SIGSTOP");
      await eventually(async () => (await lab.processesOf(claimed)).length === 0);
      expect(await lab.supervisorsOf(claimed)).toHaveLength(1); // so the worker ended itself
    },
    LONG,
  );

  test(
    "G4: kills its worker when the run is reclaimed, and overwrites nothing",
    async () => {
      await using lab = await openWorkerLab({ leaseMs: SHORT_LEASE_MS });
      const claimed = await lab.claim((await lab.add("taken away")).id);
      await lab.superviseScript(claimed, "trap '' TERM; while :; do sleep 0.1; done");
      await lab.operator.release(claimed.task.id, "mine", neverAborted);
      await eventually(async () => (await lab.processesOf(claimed)).length === 0);
      await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
      expect(await lab.findRun(claimed.run.id)).toMatchObject({ outcome: "released" });
    },
    LONG,
  );

  test(
    "if it was suspended past its lease, it first kills its worker when it continues, and its writes are refused",
    async () => {
      await using lab = await openWorkerLab({ leaseMs: SHORT_LEASE_MS });
      const claimed = await lab.claim((await lab.add("frozen")).id);
      const { supervisorPid } = await lab.superviseScript(claimed, "while :; do sleep 0.1; done");
      process.kill(supervisorPid, "SIGSTOP");
      await eventually(async () => (await lab.store.expiredRuns(0, neverAborted)).length === 1);
      expect(await lab.system.reclaimExpired(claimed.run.id, 0, neverAborted)).toBe(true);
      const next = await lab.claim(claimed.task.id);
      const old = lab.store.as({
        kind: "run",
        profile: "coder",
        taskId: claimed.task.id,
        runId: claimed.run.id,
        token: claimed.token,
      });
      expect(await codeOf(old.complete(claimed.task.id, { summary: "late" }, neverAborted))).toBe(
        "run-superseded",
      );
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
  "board D1: kanban log prints the output of a worker, of the last run or another, and follows it to its end",
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
