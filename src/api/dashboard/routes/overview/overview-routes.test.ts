import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type DashboardHome, openDashboardHome } from "../../../../../test/support/dashboard-home.ts";
import {
  assistant,
  converse,
  NEW_SESSION,
  recordAll,
  turnEnd,
  turnStart,
} from "../../../../../test/support/session-fixtures.ts";
import type { NewApproval } from "../../../../approvals/approval.ts";
import { readOwnIdentity } from "../../../../lib/process/process-identity.ts";
import { neverAborted } from "../../../../lib/time/never-aborted.ts";
import { approvalSchema, approvalsAnswerSchema } from "../../../contract/approvals.ts";
import { healthAnswerSchema, profilesAnswerSchema } from "../../../contract/health.ts";
import { overviewAnswerSchema } from "../../../contract/overview.ts";
import { createdTaskSchema } from "../../../contract/tasks.ts";
import { localDays } from "./spending.ts";

const overview = (home: DashboardHome) => home.ask(overviewAnswerSchema, "GET", "overview");

async function create(home: DashboardHome, title: string) {
  const json = { title, assignee: "coder" };
  return (await home.ask(createdTaskSchema, "POST", "boards/default/tasks", { json })).task;
}

const move = (home: DashboardHome, id: string, json: object) =>
  home.send("POST", `boards/default/tasks/${id}/moves`, { json });

/** A question of a process that has exited. */
async function ask(home: DashboardHome, profile: string, more: Partial<NewApproval> = {}) {
  const store = await home.data.profiles.sessions(profile);
  const sessionId = await converse(store, "go", "ok");
  const question: NewApproval = {
    ...{
      sessionId,
      kind: "approval" as const,
      callId: "c1",
      tool: "terminal",
      hash: "h",
      reason: "it pushes",
    },
    ...{ summary: "git push", details: { always: { rule: "terminal(git push)", words: "git push" } } },
    ...more,
  };
  return await store.approvals.ask(question, await readOwnIdentity(neverAborted), neverAborted);
}

test("the overview of a fresh home has no needs, and shows the missing first steps", async () => {
  await using home = await openDashboardHome();
  const shown = await overview(home);
  expect(shown).toMatchObject({ profile: "default", needs: [], running: [], lately: [], problems: [] });
  expect(shown.steps).toEqual({ model: false, profile: true, task: false });
  expect(shown.spending.days).toHaveLength(14);
  expect(shown.facts).toMatchObject({
    running: 0,
    needs: 0,
    doneToday: 0,
    spentTodayUsd: 0,
    lastPassAt: null,
  });
});

test("a part that cannot be read is a problem beside the others, and an unknown profile is 404", async () => {
  await using home = await openDashboardHome();
  await create(home, "Still shown");
  await writeFile(home.folder.file("sessions.sqlite"), "no database".repeat(1_000));
  const question = await ask(home, "coder");
  const { facts, needs, spending, problems } = await overview(home);
  expect(facts).toMatchObject({ ready: 1, spentTodayUsd: 0 });
  expect(spending.days).toHaveLength(14);
  expect(problems.map(({ part }) => part)).toEqual(["spending"]);
  expect(needs.map(({ kind, who }) => [kind, who]).toSorted()).toEqual([
    ["approval", "coder"],
    ["no-dispatcher", null],
    ["settings", "default"],
  ]);
  expect(needs.find(({ kind }) => kind === "settings")?.title).toContain("sessions.sqlite");
  expect(needs.find(({ kind }) => kind === "approval")?.approval?.id).toBe(question.id);
  expect((await home.send("GET", "overview?profile=nobody")).status).toBe(404);
});

test("what waits for a person is collected from boards, questions, settings and limits", async () => {
  await using home = await openDashboardHome({
    agent: { max_daily_cost_usd: 0.5 },
    terminal: { backnd: "docker" },
  });
  const [blocked, reviewed, done] = [
    await create(home, "Migrate"),
    await create(home, "Limit"),
    await create(home, "Old"),
  ];
  await create(home, "Ready");
  await move(home, blocked.id, { move: "block", reason: "Drop them?" });
  await move(home, reviewed.id, { move: "request-review", reviewer: "writer" });
  await move(home, done.id, { move: "complete", summary: "did it" });
  const store = await home.data.profiles.sessions("default");
  await recordAll(store, store.createSession(NEW_SESSION), [
    turnStart("t1", "spend"),
    assistant("spent", [], { costUsd: 0.75 }),
    turnEnd("t1"),
  ]);
  await ask(home, "coder");
  const { needs, facts, lately, steps } = await overview(home);
  expect(needs.map(({ kind, who }) => [kind, who]).toSorted()).toEqual([
    ["approval", "coder"],
    ["block", "coder"],
    ["budget", "default"],
    ["no-dispatcher", null],
    ["review", "writer"],
    ["settings", "default"],
  ]);
  const row = needs.find(({ kind }) => kind === "block");
  expect(row).toMatchObject({ title: "Migrate", detail: "Drop them?", actions: ["answer", "open"] });
  expect(facts).toMatchObject({ needs: 6, doneToday: 1, ready: 1, spentTodayUsd: 0.75, capUsd: 0.5 });
  expect(lately.map(({ text, task }) => `${task?.title} ${text}`)[0]).toBe("Old done by alice: did it");
  expect(steps.task).toBe(true);
});

test("a question of any process is listed and answered once, and an answer for always needs the scope admin", async () => {
  await using home = await openDashboardHome();
  const question = await ask(home, "coder");
  const { approvals } = await home.ask(approvalsAnswerSchema, "GET", "approvals");
  expect(approvals).toMatchObject([{ id: question.id, profile: "coder", always: "git push", session: null }]);
  const path = `approvals/${question.id}`;
  const cookie = await home.signIn(["read", "work"]);
  const refused = await home.send("POST", path, { json: { verdict: "approved", scope: "always" }, cookie });
  expect(refused.status).toBe(403);
  expect((await home.send("POST", path, { json: { verdict: "answered", text: "x" } })).status).toBe(400);
  const answered = await home.ask(approvalSchema, "POST", path, {
    json: { verdict: "denied", text: "not now" },
  });
  expect(answered).toMatchObject({ state: "denied", answer: "not now" });
  const again = { verdict: "approved", profile: "coder" };
  expect((await home.send("POST", path, { json: again })).status).toBe(409);
  expect((await home.send("POST", "approvals/a_000000", { json: { verdict: "approved" } })).status).toBe(404);
});

test("a question of the model is answered with the number of a choice, which is stored in full", async () => {
  await using home = await openDashboardHome();
  const asked: Partial<NewApproval> = {
    kind: "clarification",
    tool: "clarify",
    summary: "Which one?",
    details: { choices: ["red", "blue"] },
  };
  const question = await ask(home, "default", asked);
  const json = { verdict: "answered", text: "2" };
  expect(await home.ask(approvalSchema, "POST", `approvals/${question.id}`, { json })).toMatchObject({
    state: "answered",
    answer: "blue",
  });
});

test("profiles are listed, and the health of the machine, the profile and the server is reported", async () => {
  await using home = await openDashboardHome();
  const { profiles } = await home.ask(profilesAnswerSchema, "GET", "profiles");
  expect(profiles.map(({ name, isCurrent }) => [name, isCurrent])).toEqual([
    ["default", true],
    ["coder", false],
  ]);
  const health = await home.ask(healthAnswerSchema, "GET", "health?profile=coder");
  expect(health.findings.map(({ name }) => name)).toContain("node");
  expect(health.server).toMatchObject({ pid: process.pid, streams: 0 });
  expect((await home.send("GET", "health?profile=nobody")).status).toBe(404);
});

test("local days have no gaps and no duplicates, even across a clock change", () => {
  const from = new Date(2026, 2, 20).getTime();
  const days = localDays(from, new Date(2026, 3, 5, 1).getTime());
  expect(days).toHaveLength(17);
  expect([days[0], days.at(-1), new Set(days).size]).toEqual(["2026-03-20", "2026-04-05", 17]);
});
