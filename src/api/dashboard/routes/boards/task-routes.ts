import { AppError } from "../../../../lib/errors.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import { errorBody, toApiError } from "../../../api-error.ts";
import {
  answeredTaskSchema,
  type BulkAnswer,
  bulkAnswerSchema,
  bulkSchema,
  changedTaskSchema,
  commentSchema,
  createdTaskSchema,
  moveSchema,
  type NewTask,
  newAnswerSchema,
  newCommentSchema,
  newTaskSchema,
  shownTaskSchema,
  type TaskEdit,
  taskEditSchema,
  whySchema,
} from "../../../contract/tasks.ts";
import { type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import type { DashboardBoard } from "../../data/board-data.ts";
import { makeMove } from "./make-move.ts";
import { requireBoard, requireTaskId } from "./require-board.ts";
import { showTask } from "./show-task.ts";
import { toChangedTask, toComment } from "./task-view.ts";

const TASK = "/api/boards/:board/tasks/:task";

/** Routes that read, create, edit, move and answer tasks. */
export const taskRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "POST",
    path: "/api/boards/:board/tasks",
    scope: "work",
    summary: "Create a task; with the same `Idempotency-Key`, return the existing one",
    body: newTaskSchema,
    answer: createdTaskSchema,
    async handle(call, parts) {
      const { body, headers, disconnected } = call;
      const board = await requireBoard(call, parts);
      const key = headers.get("Idempotency-Key") ?? undefined;
      const wanted = { ...toNewTask(body), ...withoutUndefined({ idempotencyKey: key }) };
      await board.requireStartable(wanted, disconnected);
      const { task, created } = await board.client.create(wanted, disconnected);
      const answer = { ...(await toChangedTask(board, task, disconnected)), created };
      return Response.json(answer, { status: created ? 201 : 200 });
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/boards/:board/tasks/bulk",
    scope: "work",
    summary: "Move or edit several tasks independently",
    body: bulkSchema,
    answer: bulkAnswerSchema,
    async handle(call, parts) {
      const { body, disconnected } = call;
      const board = await requireBoard(call, parts);
      const results: BulkAnswer = [];
      for (const id of new Set(body.ids)) {
        try {
          if ("move" in body) await makeMove(board, id, body.move, disconnected);
          else await board.client.change(id, toChange(body.edit), disconnected);
          results.push({ id, ok: true, problem: null });
        } catch (error) {
          const refusal = toApiError(error);
          if (refusal.status >= 500) throw error;
          const { code, message, hint } = errorBody(refusal, "problem") as {
            readonly [Name in "code" | "message"]: string;
          } & { readonly hint: string | null };
          results.push({ id, ok: false, problem: { code, message, hint } });
        }
      }
      return results;
    },
  }),
  dashboardRoute({
    method: "GET",
    path: TASK,
    scope: "read",
    summary: "Show a task with its comments, events, runs and files",
    answer: shownTaskSchema,
    handle: async (call, parts) => showTask(call, await requireBoard(call, parts), parts),
  }),
  dashboardRoute({
    method: "PATCH",
    path: TASK,
    scope: "work",
    summary: "Edit a task; `If-Match` with its `updatedAt` refuses to overwrite a newer change",
    body: taskEditSchema,
    answer: changedTaskSchema,
    async handle(call, parts) {
      const board = await requireBoard(call, parts);
      const id = await requireTaskId(call, board.store);
      const change = { ...toChange(call.body), ...parseIfMatch(call.headers) };
      return toChangedTask(
        board,
        await board.client.change(id, change, call.disconnected),
        call.disconnected,
      );
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${TASK}/why`,
    scope: "read",
    summary: "Explain why a task is not running, and what releases it",
    answer: whySchema,
    async handle(call, parts) {
      const board = await requireBoard(call, parts);
      const id = await requireTaskId(call, board.store);
      const { reason, text, release, until } = await board.explain(id, call.disconnected);
      return { reason, text, release, until };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${TASK}/moves`,
    scope: "work",
    summary: "Make a move; a refusal names the rule and the tasks in the way",
    body: moveSchema,
    answer: changedTaskSchema,
    async handle(call, parts) {
      const board = await requireBoard(call, parts);
      const id = await requireTaskId(call, board.store);
      const task = await makeMove(board, id, call.body, call.disconnected);
      return toChangedTask(board, task, call.disconnected);
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${TASK}/comments`,
    scope: "work",
    summary: "Add a comment, which a running worker reads after its next step",
    body: newCommentSchema,
    answer: commentSchema,
    status: 201,
    async handle(call, parts) {
      const { client, store } = await requireBoard(call, parts);
      const id = await requireTaskId(call, store);
      return toComment(await client.comment(id, call.body.body, call.disconnected), new Map());
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${TASK}/answer`,
    scope: "work",
    summary: "Answer the question of a task and let it continue",
    body: newAnswerSchema,
    answer: answeredTaskSchema,
    async handle(call, parts) {
      const { body, disconnected } = call;
      const board = await requireBoard(call, parts);
      const id = await requireTaskId(call, board.store);
      const { runs } = await board.store.show(id, disconnected);
      // First the question, so that a worker that starts right after finds it answered.
      const asked = await board.answerQuestion(runs, body.body, disconnected);
      const text = asked?.answer ?? body.body;
      if (body.unblock) await board.client.answer(id, text, disconnected);
      else await board.client.comment(id, text, disconnected);
      const { task } = await board.store.show(id, disconnected);
      const question =
        asked === undefined ? null : { id: asked.id, profile: asked.profile, state: asked.state };
      return { ...(await toChangedTask(board, task, disconnected)), question };
    },
  }),
  ...(["PUT", "DELETE"] as const).map((method) =>
    dashboardRoute({
      method,
      path: `${TASK}/links/:parent`,
      scope: "work",
      summary: method === "PUT" ? "Let a task wait for another one" : "Remove a dependency",
      answer: changedTaskSchema,
      async handle(call, parts) {
        const { disconnected } = call;
        const board = await requireBoard(call, parts);
        const id = await requireTaskId(call, board.store);
        const parent = await requireTaskId(call, board.store, "parent");
        if (method === "PUT") await board.client.link(parent, id, disconnected);
        else await board.client.unlink(parent, id, disconnected);
        const { task } = await board.store.show(id, disconnected);
        return toChangedTask(board, task, disconnected);
      },
    }),
  ),
];

function toNewTask({
  branch,
  model,
  provider,
  ...task
}: NewTask): Parameters<DashboardBoard["requireStartable"]>[0] {
  const names = { branchName: branch, modelOverride: model, providerOverride: provider };
  return { ...withoutUndefined({ ...task, ...names }), title: task.title };
}

function toChange({ model, provider, ...edit }: TaskEdit) {
  return withoutUndefined({ ...edit, modelOverride: model, providerOverride: provider });
}

function parseIfMatch(headers: Headers): { readonly unchangedSince?: number } {
  const text = headers.get("If-Match");
  if (text === null) return {};
  const time = Number(text.replaceAll('"', ""));
  if (Number.isSafeInteger(time)) return { unchangedSince: time };
  throw new AppError("usage-wrong", "If-Match is not the time of a change.");
}
