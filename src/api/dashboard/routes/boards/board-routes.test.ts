import { expect, test } from "vitest";
import { type DashboardHome, openDashboardHome } from "../../../../../test/support/dashboard-home.ts";
import {
  boardAnswerSchema,
  boardEventsAnswerSchema,
  boardsAnswerSchema,
  cardsAnswerSchema,
  diagnosticsAnswerSchema,
  dispatchedSchema,
  linksAnswerSchema,
} from "../../../contract/boards.ts";
import { problemSchema } from "../../../contract/problem.ts";
import {
  answeredTaskSchema,
  bulkAnswerSchema,
  changedTaskSchema,
  commentSchema,
  createdTaskSchema,
  refusedMoveSchema,
  shownTaskSchema,
  whySchema,
} from "../../../contract/tasks.ts";

const B = "boards/default";

async function create(home: DashboardHome, title: string, task: object = {}) {
  return (
    await home.ask(createdTaskSchema, "POST", `${B}/tasks`, { json: { title, assignee: "coder", ...task } })
  ).task;
}

test("boards are created, listed with their counts, described, paused and removed", async () => {
  await using home = await openDashboardHome();
  await create(home, "one");
  const made = await home.ask(boardAnswerSchema, "POST", "boards", {
    json: { slug: "Ops", name: "Operations" },
  });
  expect(made).toMatchObject({ slug: "ops", name: "Operations", paused: false });
  expect((await home.send("POST", "boards", { json: { slug: "ops" } })).status).toBe(409);
  const { boards, moves } = await home.ask(boardsAnswerSchema, "GET", "boards");
  expect(boards.map(({ slug, stats }) => [slug, stats.counts.ready])).toEqual([
    ["default", 1],
    ["ops", 0],
  ]);
  expect(moves.find(({ move }) => move === "promote")).toMatchObject({
    from: ["triage", "todo", "blocked"],
    to: ["ready"],
  });
  const board = await home.ask(boardAnswerSchema, "GET", B);
  expect(board.assignees).toEqual([
    { name: "coder", kind: "profile", open: 1 },
    { name: "default", kind: "profile", open: 0 },
  ]);
  expect((await home.ask(boardAnswerSchema, "POST", `${B}/pause`, { json: {} })).paused).toBe(true);
  expect((await home.ask(boardAnswerSchema, "POST", `${B}/resume`, { json: {} })).paused).toBe(false);
  const named = await home.ask(boardAnswerSchema, "PATCH", "boards/ops", { json: { color: "red" } });
  expect(named).toMatchObject({ name: "Operations", color: "red" });
  expect((await home.send("DELETE", "boards/ops")).status).toBe(204);
  expect((await home.send("GET", "boards/ops")).status).toBe(404);
  expect((await home.send("GET", "boards/..%2f..%2fetc")).status).toBe(400);
});

test("a task is created once per key, shown, edited unless it has changed, and explained", async () => {
  await using home = await openDashboardHome();
  const headers = { "Idempotency-Key": "k1" };
  const json = { title: "Fix <script>", body: "why", priority: 2, assignee: "coder", model: "m1" };
  const first = await home.send("POST", `${B}/tasks`, { json, headers });
  const again = await home.send("POST", `${B}/tasks`, { json, headers });
  expect([first.status, again.status]).toEqual([201, 200]);
  const { task, card } = createdTaskSchema.parse(first.body);
  expect(createdTaskSchema.parse(again.body)).toMatchObject({ created: false, task: { id: task.id } });
  expect(card).toMatchObject({ title: "Fix <script>", priority: 2, reason: { kind: "next" } });
  const child = await create(home, "Then this", { parents: [task.id] });

  const shown = await home.ask(shownTaskSchema, "GET", `${B}/tasks/${task.seq}`);
  expect(shown).toMatchObject({
    task: { id: task.id, model: "m1", body: "why" },
    children: [{ id: child.id }],
    runs: [],
  });
  expect(shown.events.map(({ kind }) => kind)).toEqual(["created"]);
  expect(shown.moves).toContain("block");
  expect((await home.ask(whySchema, "GET", `${B}/tasks/${child.id.slice(0, 8)}/why`)).reason).toBe("parents");

  const path = `${B}/tasks/${task.id}`;
  const ifMatch = { "If-Match": String(task.updatedAt) };
  const edit = { title: "Fix it", assignee: null, priority: 3 };
  const edited = await home.ask(changedTaskSchema, "PATCH", path, { json: edit, headers: ifMatch });
  expect(edited.task).toMatchObject({ title: "Fix it", assignee: null, body: "why" });
  expect(edited.card.reason?.kind).toBe("unassigned");
  const stale = await home.send("PATCH", path, { json: { title: "Mine" }, headers: { "If-Match": "1" } });
  expect([stale.status, problemSchema.parse(stale.body).code]).toEqual([412, "task-changed"]);
  expect((await home.send("PATCH", path, { json: { status: "done" } })).status).toBe(400);
  expect((await home.send("GET", `${B}/tasks/t_ffffffffffff`)).status).toBe(404);
});

test("a move is a verb; a refused one names the rule and the tasks in the way", async () => {
  await using home = await openDashboardHome();
  const parent = await create(home, "parent");
  const child = await create(home, "child", { parents: [parent.id] });
  const move = (id: string, json: object) => home.send("POST", `${B}/tasks/${id}/moves`, { json });
  const refused = await move(child.id, { move: "promote" });
  expect(refused.status).toBe(409);
  const problem = refusedMoveSchema.parse(refused.body);
  expect(problem).toMatchObject({ code: "task-parents-open", tasks: [{ id: parent.id, title: "parent" }] });
  expect(problem.rule).toMatch(/refused while a parent is not done/);
  const wrong = await move(parent.id, { move: "reclaim" });
  expect([wrong.status, refusedMoveSchema.parse(wrong.body).tasks]).toEqual([409, []]);
  expect((await move(parent.id, { move: "running" })).status).toBe(400);
  expect((await move(parent.id, { move: "block" })).status).toBe(400);

  const steps = [
    [{ move: "block", reason: "wait" }, "blocked"],
    [{ move: "unblock", reason: "go on" }, "ready"],
    [{ move: "schedule", at: Date.now() + 60_000 }, "scheduled"],
    [{ move: "unblock" }, "ready"],
    [{ move: "hold" }, "ready"],
    [{ move: "release-hold" }, "ready"],
    [{ move: "unguard" }, "ready"],
    [{ move: "request-review", reviewer: "reviewer", summary: "look" }, "review"],
    [{ move: "request-changes", reason: "tests" }, "ready"],
    [{ move: "request-review", reviewer: "reviewer" }, "review"],
    [{ move: "approve" }, "done"],
    [{ move: "reopen" }, "ready"],
    [{ move: "complete", summary: "done now" }, "done"],
    [{ move: "archive" }, "archived"],
  ] as const;
  for (const [json, status] of steps) {
    const answer = await move(parent.id, json);
    expect(answer.status, answer.text).toBe(200);
    expect(changedTaskSchema.parse(answer.body).card.status, json.move).toBe(status);
  }
});

test("several tasks are moved or edited at once, and each has its own result", async () => {
  await using home = await openDashboardHome();
  const [one, two] = [await create(home, "one"), await create(home, "two")];
  await home.send("POST", `${B}/tasks/${two.id}/moves`, { json: { move: "archive" } });
  const ids = [one.id, two.id, "t_ffffffffffff"];
  const results = await home.ask(bulkAnswerSchema, "POST", `${B}/tasks/bulk`, {
    json: { ids, edit: { priority: 3, assignee: "writer" } },
  });
  expect(results.map(({ ok, problem }) => [ok, problem?.code])).toEqual([
    [true, undefined],
    [false, "task-move-refused"],
    [false, "task-not-found"],
  ]);
  const moved = await home.ask(bulkAnswerSchema, "POST", `${B}/tasks/bulk`, {
    json: { ids: [one.id], move: { move: "hold" } },
  });
  expect(moved).toEqual([{ id: one.id, ok: true, problem: null }]);
});

test("a blocked task is answered with one request, which comments and unblocks", async () => {
  await using home = await openDashboardHome();
  const task = await create(home, "Migrate");
  await home.send("POST", `${B}/tasks/${task.id}/moves`, { json: { move: "block", reason: "Drop them?" } });
  const answered = await home.ask(answeredTaskSchema, "POST", `${B}/tasks/${task.id}/answer`, {
    json: { body: "Keep them." },
  });
  expect(answered).toMatchObject({ card: { status: "ready", comments: 2 }, question: null });
  const comment = await home.ask(commentSchema, "POST", `${B}/tasks/${task.id}/comments`, {
    json: { body: "And soon." },
  });
  expect(comment).toMatchObject({ author: "alice", body: "And soon.", readAt: null });
  const { comments } = await home.ask(shownTaskSchema, "GET", `${B}/tasks/${task.id}`);
  expect(comments.map(({ body }) => body)).toEqual(["Drop them?", "Keep them.", "And soon."]);
});

test("cards, links and events of a board are read with filters; a reader may change nothing", async () => {
  await using home = await openDashboardHome();
  const parent = await create(home, "parent", { tenant: "acme" });
  const child = await create(home, "child", { assignee: "writer" });
  await home.ask(changedTaskSchema, "PUT", `${B}/tasks/${child.id}/links/${parent.seq}`, { json: {} });
  const cards = await home.ask(cardsAnswerSchema, "GET", `${B}/cards`);
  expect(
    cards.columns.map(({ status, count }) => [status, count]).filter(([, count]) => count !== 0),
  ).toEqual([
    ["todo", 1],
    ["ready", 1],
  ]);
  const mine = await home.ask(cardsAnswerSchema, "GET", `${B}/cards?status=todo,ready&assignee=writer&q=chi`);
  expect(mine.columns.map(({ count }) => count)).toEqual([1, 0]);
  expect((await home.send("GET", `${B}/cards?status=doing`)).status).toBe(400);
  expect((await home.send("GET", `${B}/cards?after=x&status=todo`)).status).toBe(400);
  const { links } = await home.ask(linksAnswerSchema, "GET", `${B}/links`);
  expect(links).toEqual([{ parent: parent.id, child: child.id }]);
  const { events, next } = await home.ask(boardEventsAnswerSchema, "GET", `${B}/events`);
  expect(events.map(({ text }) => text)).toContain(`now waits for #${parent.seq} parent`);
  expect((await home.ask(boardEventsAnswerSchema, "GET", `${B}/events?after=${next}`)).events).toEqual([]);
  await home.ask(changedTaskSchema, "DELETE", `${B}/tasks/${child.id}/links/${parent.id}`);
  const cookie = await home.signIn(["read"]);
  const refused = await home.send("POST", `${B}/tasks`, { json: { title: "x" }, cookie });
  expect([refused.status, problemSchema.parse(refused.body).code]).toEqual([403, "scope-missing"]);
});

test("problems of a board are listed with suggestions, and a pass starts no task without a profile", async () => {
  await using home = await openDashboardHome({ kanban: { diagnostics: { stranded_threshold_seconds: 0 } } });
  const task = await create(home, "Lost", { assignee: "nobody-here" });
  const { findings } = await home.ask(diagnosticsAnswerSchema, "GET", `${B}/diagnostics`);
  expect(findings).toMatchObject([{ kind: "stranded_in_ready", taskId: task.id, title: "Lost" }]);
  expect(findings[0]?.detail).toMatch(/nobody-here/);
  expect(await home.ask(dispatchedSchema, "POST", `${B}/dispatch`)).toEqual({ started: 0 });
});
