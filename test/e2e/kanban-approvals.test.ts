import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import type { Approval } from "../../src/approvals/approval.ts";
import type { TaskDetails } from "../../src/board/operations/views/load-task-details.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { ASKING, RUN, terminal } from "../support/approval-home.ts";
import { tempHome } from "../support/hermes.ts";

const complete = { tools: [{ name: "kanban_complete", input: { summary: "all done" } }] };

/** A task whose worker asks about its first call, with the question already on the board. */
async function openBlockedTask(call: object = terminal(RUN)) {
  const home = await tempHome();
  const profile = join(home.path, "profiles", "coder");
  const work = join(home.folder, "work");
  await Promise.all([mkdir(profile, { recursive: true, mode: 0o700 }), mkdir(work)]);
  const script = {
    answers: [call, complete],
    turns: [{ when: "This is a new run", answers: [call, complete] }],
  };
  await writeFile(join(profile, "script.json"), JSON.stringify(script));
  const model = { provider: "scripted", default: join(profile, "script.json") };
  await writeFile(join(profile, "config.yaml"), stringify({ model, approvals: ASKING }));
  const kanban = (...words: string[]) => home.hermes(["kanban", ...words]);
  const show = async (id: string) => (await kanban("show", id, "--json")).json<TaskDetails>();
  const statusOf = async (id: string) => (await show(id)).task.status;
  const created = await kanban(
    ...["create", "work", "--assignee", "coder", "--workspace", `dir:${work}`, "--json"],
  );
  expect(created.exitCode, created.stderr).toBe(0);
  const { id } = created.json<{ id: string }>();
  /** The processes of an earlier run may need a moment to exit. */
  const dispatch = () =>
    expect.poll(async () => (await home.hermes(["kanban", "dispatch"])).stdout).toContain("Started #1 work");
  const runs = async () =>
    (await readFile(join(work, "ran.txt"), "utf8").catch(() => "")).split("\n").length - 1;
  await dispatch();
  await expect.poll(() => statusOf(id)).toBe("blocked");
  await expect.poll(async () => (await show(id)).runs.at(-1)?.ended_at ?? null).not.toBeNull();
  const approvals = async (...words: string[]) => home.hermes(["-p", "coder", "approvals", ...words]);
  const [question] = (await approvals("list", "--json")).json<(Approval & { isHeld: boolean })[]>();
  if (question === undefined) throw new Error("nothing was asked");
  return {
    ...home,
    id,
    question,
    kanban,
    approvals,
    show,
    statusOf,
    runs,
    dispatch,
    /** The whole conversation of the task's worker, as JSON. */
    async transcript(): Promise<string> {
      const { runs: all } = await show(id);
      using store = await openSessionStore(join(profile, "sessions.sqlite"), {}, neverAborted);
      return JSON.stringify(store.loadSession(all.at(-1)?.session_id ?? "").messages);
    },
    /** Starts the next run, and waits for its end. */
    async resume(): Promise<void> {
      await dispatch();
      await expect.poll(() => statusOf(id)).toBe("done");
    },
  };
}

test("a worker's question blocks its task, says how to answer, and remains after its process has ended", async () => {
  await using task = await openBlockedTask();
  expect(await task.runs()).toBe(0);
  // The worker exits shortly after it has blocked its task.
  const question = async () => (await task.approvals("list", "--json")).json<Approval[]>()[0];
  await expect
    .poll(question, { timeout: 150_000 })
    .toMatchObject({ state: "waiting", summary: RUN, isHeld: false });
  expect(task.question).not.toHaveProperty("endsAt"); // a person may answer days later
  const { stdout } = await task.kanban("show", task.id);
  expect(stdout).toContain(`May the worker run this? terminal: ${RUN}`);
  expect(stdout).toMatch(/hermes kanban answer \S+ yes/);
});

test("agent K2: kanban answer yes lets the task continue, and the call runs once", async () => {
  await using task = await openBlockedTask();
  const answered = await task.kanban("answer", task.id, "yes");
  expect(answered.exitCode, answered.stderr).toBe(0);
  expect(answered.stderr).toContain(`The call was approved: terminal: ${RUN}`);
  expect(await task.statusOf(task.id)).toBe("ready");
  await task.resume();
  expect(await task.runs()).toBe(1);
  const again = await task.approvals("approve", task.question.id);
  expect(again.exitCode).not.toBe(0);
  expect(again.stderr).toContain("was already approved");
});

test("agent K2: kanban answer no with a reason: the call does not run without a new question, and the reason reaches the model", async () => {
  await using task = await openBlockedTask();
  const answered = await task.kanban("answer", task.id, "no, use the staging copy");
  expect(answered.exitCode, answered.stderr).toBe(0);
  expect(answered.stderr).toContain("The call was denied");
  const [denied] = (await task.approvals("list", "--all", "--json")).json<Approval[]>();
  expect(denied).toMatchObject({ state: "denied", answer: "use the staging copy" });
  await task.dispatch();
  await expect.poll(() => task.statusOf(task.id)).toBe("blocked"); // this model repeats the call
  expect(await task.runs()).toBe(0);
  await expect.poll(() => task.transcript()).toContain("use the staging copy");
});

test("agent K2: approving the question in the worker's profile unblocks the task too", async () => {
  await using task = await openBlockedTask();
  const approved = await task.approvals("approve", task.question.id);
  expect(approved.exitCode, approved.stderr).toBe(0);
  expect(approved.stdout).toContain(`Task ${task.id} is ready again.`);
  expect(await task.statusOf(task.id)).toBe("ready");
  await task.resume();
  expect(await task.runs()).toBe(1);
});

test("denying the question in the worker's profile unblocks the task, and the reason reaches the model", async () => {
  await using task = await openBlockedTask();
  await task.approvals("deny", task.question.id, "not on production");
  expect(await task.statusOf(task.id)).toBe("ready");
  await task.dispatch();
  await expect.poll(() => task.statusOf(task.id)).toBe("blocked");
  await expect.poll(() => task.transcript()).toContain("not on production");
  expect(await task.runs()).toBe(0);
});

test("an answer that is neither yes nor no unblocks the task and approves nothing", async () => {
  await using task = await openBlockedTask();
  const said = await task.kanban("answer", task.id, "Yes, but not with rm");
  expect(said.stderr).toContain("The call was not approved, because the answer was not exactly yes or no.");
  expect(said.stderr).toContain(`hermes -p coder approvals approve ${task.question.id}`);
  const [question] = (await task.approvals("list", "--json")).json<Approval[]>();
  expect(question).toMatchObject({ id: task.question.id, state: "waiting" });
  expect(await task.runs()).toBe(0);
});

test("agent K2: a command of an agent cannot answer the question of a task", async () => {
  await using task = await openBlockedTask();
  for (const answer of ["yes", "no"]) {
    const run = await task.hermes(["kanban", "answer", task.id, answer], {
      env: { HERMES_COMMAND_ID: "c1" },
    });
    expect(run.exitCode).not.toBe(0);
    expect(run.stderr).toContain("Only a person may do this");
  }
  expect(await task.statusOf(task.id)).toBe("blocked");
  const [question] = (await task.approvals("list", "--json")).json<Approval[]>();
  expect(question).toMatchObject({ id: task.question.id, state: "waiting" });
});

const CLARIFY = {
  tools: [{ name: "clarify", input: { question: "Which colour?", choices: ["red", "dark blue"] } }],
};

test("agent C3, K2: a worker's question to the user blocks its task, and kanban answer continues it with the choice", async () => {
  await using task = await openBlockedTask(CLARIFY);
  expect(task.question).toMatchObject({ kind: "clarification", state: "waiting" });
  expect(task.question).not.toHaveProperty("endsAt");
  expect((await task.kanban("show", task.id)).stdout).toContain("Which colour? 1. red 2. dark blue");
  const answered = await task.kanban("answer", task.id, "2");
  expect(answered.exitCode, answered.stderr).toBe(0);
  expect(answered.stderr).toContain("The question was answered: clarify: Which colour?");
  expect((await task.show(task.id)).comments.at(-1)?.body).toBe("dark blue");
  await task.resume();
  expect(await task.transcript()).toContain(
    '{\\"question\\":\\"Which colour?\\",\\"answer\\":\\"dark blue\\"}',
  );
});

test("agent K2: answering the question in the worker's profile unblocks the task too", async () => {
  await using task = await openBlockedTask(CLARIFY);
  const answered = await task.approvals("answer", task.question.id, "something lighter");
  expect(answered.stdout).toContain(`Task ${task.id} is ready again.`);
  await task.resume();
  expect(await task.transcript()).toContain("something lighter");
});
