import { appendFile, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { CLAIM } from "../../../../../test/support/board-lab.ts";
import { openDashboardHome } from "../../../../../test/support/dashboard-home.ts";
import {
  assistant,
  call,
  NEW_SESSION,
  recordAll,
  toolEnd,
  turnStart,
} from "../../../../../test/support/session-fixtures.ts";
import { renderCommentNote } from "../../../../board/worker/worker-messages.ts";
import { neverAborted } from "../../../../lib/time/never-aborted.ts";
import { cardsAnswerSchema } from "../../../contract/boards.ts";
import { shownSessionSchema } from "../../../contract/sessions.ts";
import type { RunLogPiece } from "../../../contract/tasks.ts";
import {
  changedTaskSchema,
  createdTaskSchema,
  fileSchema,
  runDiffSchema,
  runLogSchema,
  shownTaskSchema,
} from "../../../contract/tasks.ts";
import { createRunLogSource } from "../../../live/sources/run-logs.ts";

/** A home with a task that a worker has claimed, whose log has 3,000 lines. */
async function openWithRun() {
  const home = await openDashboardHome();
  const json = { title: "Fix", assignee: "coder" };
  const { task } = await home.ask(createdTaskSchema, "POST", "boards/default/tasks", { json });
  const board = await home.data.boards.open("default", neverAborted);
  const system = board.store.as({ kind: "system", name: "dispatcher" });
  const { claimed } = await system.claim({ ...CLAIM, taskIds: [task.id] }, neverAborted);
  const run = claimed[0]?.run.id ?? 0;
  const token = claimed[0]?.token ?? "";
  const log = board.logPath(task.id, run);
  await mkdir(dirname(log), { recursive: true });
  await writeFile(log, Array.from({ length: 3_000 }, (_, line) => `line ${line} grüße\n`).join(""));
  return { home, board, task, run, token, log, path: `boards/default/tasks/${task.id}` };
}

test("the log of a run is read from its end in bounded pieces", async () => {
  const { home, run, path } = await openWithRun();
  await using _ = home;
  const last = await home.ask(runLogSchema, "GET", `${path}/runs/${run}/log?bytes=1000`);
  expect(last.text.endsWith("line 2999 grüße\n")).toBe(true);
  expect(last).toMatchObject({ isRunning: true, to: last.size });
  const before = await home.ask(
    runLogSchema,
    "GET",
    `${path}/runs/${run}/log?bytes=1000&before=${last.from}`,
  );
  expect(before.to).toBe(last.from);
  expect((await home.send("GET", `${path}/runs/${run}/log?bytes=300000`)).status).toBe(400);
  expect((await home.send("GET", `${path}/runs/99/log`)).status).toBe(404);
  expect((await home.send("GET", `${path}/runs/..%2f1/log`)).status).toBe(400);
  const shown = await home.ask(shownTaskSchema, "GET", path);
  expect(shown.runs).toMatchObject([{ id: run, hasLog: true, outcome: null, failed: false }]);
});

test("new lines of a run are published as they are written, and its end", async () => {
  const { home, board, run, log, task } = await openWithRun();
  await using _ = home;
  const pieces: RunLogPiece[] = [];
  const sink = {
    publish: (name: string, data: unknown) => void (name === "run-line" && pieces.push(data as RunLogPiece)),
    fail: (error: unknown) => expect.unreachable(String(error)),
  };
  await using _source = await createRunLogSource(home.data.boards).open(`default/${run}`, sink, neverAborted);
  const { size } = await home.ask(runLogSchema, "GET", `boards/default/tasks/${task.id}/runs/${run}/log`);
  await appendFile(log, "one\n");
  await appendFile(log, "two\n");
  await expect.poll(() => pieces.map(({ text }) => text).join("")).toBe("one\ntwo\n");
  expect(pieces[0]).toMatchObject({
    board: "default",
    taskId: task.id,
    runId: run,
    from: size,
    isRunning: true,
  });
  await appendFile(log, "three\n");
  await board.client.release(task.id, "", neverAborted);
  await expect.poll(() => pieces.at(-1)?.isRunning, { timeout: 10_000 }).toBe(false);
  expect(pieces.map(({ text }) => text).join("")).toBe("one\ntwo\nthree\n");
  await expect(createRunLogSource(home.data.boards).open("default/99", sink, neverAborted)).rejects.toThrow(
    /no run/,
  );
});

test("a line that is written between the reading of a log and the subscription reaches the page", async () => {
  const { home, run, log, path } = await openWithRun();
  await using _ = home;
  const Cookie = await home.lab.signIn();
  const page = await home.lab.follow(Cookie, "stream=one-page-of-a-browser");
  const { at } = await home.ask(runLogSchema, "GET", `${path}/runs/${run}/log`);
  await appendFile(log, "in between\n");
  const json = { topics: { [`run:default/${run}`]: at } };
  await home.lab.send("/api/events/one-page-of-a-browser/topics", {
    method: "PUT",
    json,
    headers: { Cookie },
  });
  const { data } = await page.find(({ name }) => name === "run-line");
  expect(data).toMatchObject({ text: "in between\n" });
});

test("a run is stopped once; a task without a worktree has no diff", async () => {
  const { home, run, path } = await openWithRun();
  await using _ = home;
  const diff = await home.ask(runDiffSchema, "GET", `${path}/runs/${run}/diff`);
  expect(diff).toMatchObject({ missing: "This task has no worktree on this host.", files: [], text: "" });
  const stopped = await home.ask(changedTaskSchema, "POST", `${path}/runs/${run}/stop`);
  expect(stopped.card).toMatchObject({ status: "ready", run: null });
  expect((await home.send("POST", `${path}/runs/${run}/stop`)).status).toBe(409);
});

test("files are attached, listed, always downloaded and removed; names cannot leave the folder", async () => {
  const { home, path } = await openWithRun();
  await using _ = home;
  const upload = (name: string, body: string) =>
    home.send("POST", `${path}/files?name=${encodeURIComponent(name)}`, {
      body,
      headers: { "Content-Type": "application/octet-stream" },
    });
  const sent = await upload("page <b>.html", "<script>alert(1)</script>");
  expect(sent.status, sent.text).toBe(201);
  const file = fileSchema.parse(sent.body);
  expect(file).toMatchObject({ name: "page <b>.html", size: 25, uploadedBy: "alice" });
  const escaped = await upload("../../../config.yaml", "x: 1");
  expect(fileSchema.parse(escaped.body).name).not.toContain("/");
  expect(await home.ask(z.array(fileSchema), "GET", `${path}/files`)).toHaveLength(2);
  const answer = await home.lab.send(`/api/${path}/files/${file.id}`, {
    headers: { Cookie: await home.lab.signIn() },
  });
  expect(answer.text).toBe("<script>alert(1)</script>");
  expect(answer.headers["content-type"]).toBe("application/octet-stream");
  expect(answer.headers["content-disposition"]).toMatch(/^attachment/);
  expect(answer.headers["x-content-type-options"]).toBe("nosniff");
  expect((await home.send("DELETE", `${path}/files/${file.id}`)).status).toBe(204);
  expect((await home.send("GET", `${path}/files/${file.id}`)).status).toBe(404);
});

test("a running card has the last call of its agent, and a comment the time when its worker read it", async () => {
  const { home, board, task, run, token, path } = await openWithRun();
  await using _ = home;
  const sessions = await home.data.profiles.sessions("coder");
  const draft = sessions.createSession({ ...NEW_SESSION, source: "kanban" });
  const worker = board.store.as({ kind: "run", profile: "coder", taskId: task.id, runId: run, token });
  await worker.describeRun({ sessionId: draft.id, inputTokens: 5, costMicros: 250_000 }, neverAborted);
  const comment = await board.client.comment(task.id, "Use PostgreSQL.", neverAborted);
  const later = await board.client.comment(task.id, "And soon.", neverAborted);
  const note = { type: "text", text: renderCommentNote(comment) } as const;
  await recordAll(sessions, draft, [
    turnStart("t1", "work"),
    assistant("", [call("c1", '{"command":"npm   run check"}')]),
    { type: "tools-start", calls: [call("c1")] },
    toolEnd("c1", "ok"),
    { type: "steer", message: { role: "user", kind: "steer", parts: [note] } },
    assistant("", [call("c2", '{"command":"npm   test"}')]),
    { type: "tools-start", calls: [call("c2")] },
  ]);
  const shown = await home.ask(shownTaskSchema, "GET", path);
  expect(shown.card.run).toMatchObject({ tokens: 5, costUsd: 0.25 });
  expect(shown.card.run?.call).toMatchObject({ tool: "terminal", text: "npm test", outcome: null });
  expect(shown.comments.map(({ id, readAt }) => [id, readAt !== null])).toEqual([
    [comment.id, true],
    [later.id, false],
  ]);
  const session = await home.ask(shownSessionSchema, "GET", `profiles/coder/sessions/${draft.id}`);
  expect(session.task).toEqual({ board: "default", id: task.id, runId: run });
});

test("a board whose file was replaced while the server runs is opened again", async () => {
  await using home = await openDashboardHome();
  const json = { title: "old" };
  await home.ask(createdTaskSchema, "POST", "boards/default/tasks", { json });
  for (const end of ["", "-wal", "-shm"]) await rm(home.folder.file(`board.sqlite${end}`), { force: true });
  const cards = await home.ask(cardsAnswerSchema, "GET", "boards/default/cards");
  expect(cards.columns.every(({ count }) => count === 0)).toBe(true);
});
