import { z } from "zod";
import { readAttachment } from "../../../../board/attachments/attachment-content.ts";
import { attachFile, removeAttachment } from "../../../../board/attachments/attachment-files.ts";
import { readRunLog } from "../../../../board/supervisor/log/read-run-log.ts";
import { LARGEST_ATTACHMENT, type Run } from "../../../../board/task.ts";
import { AppError } from "../../../../lib/errors.ts";
import { changedTaskSchema, fileSchema, runDiffSchema, runLogSchema } from "../../../contract/tasks.ts";
import { type DashboardCall, type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import type { DashboardBoard } from "../../data/board-data.ts";
import { makeMove } from "./make-move.ts";
import { requireBoard, requireTaskId } from "./require-board.ts";
import { toChangedTask, toFile } from "./task-view.ts";

const TASK = "/api/boards/:board/tasks/:task";
/** The most that one answer contains of a log. */
export const LOG_BYTES = 256 * 1024;

/** Routes for the runs and files of a task. */
export const taskRunRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: `${TASK}/runs/:run/log`,
    scope: "read",
    summary: "Read a piece of the log of a run, by default its end",
    query: z.strictObject({
      before: z.coerce.number().int().min(0).optional(),
      bytes: z.coerce.number().int().min(1).max(LOG_BYTES).optional(),
    }),
    answer: runLogSchema,
    async handle(call, parts) {
      const board = await requireBoard(call, parts);
      const run = await requireRun(call, board);
      const isRunning = run.ended_at === null;
      const at = isRunning ? await parts.live.watch(`run:${board.store.slug}/${run.id}`) : null;
      const { before, bytes = LOG_BYTES } = call.query;
      const piece = readRunLog(board.logPath(run.task_id, run.id), { before, bytes });
      return { ...piece, text: board.redact(piece.text), isRunning, at };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${TASK}/runs/:run/diff`,
    scope: "read",
    summary: "Compare the worktree of a task with the start of its branch",
    answer: runDiffSchema,
    async handle(call, parts) {
      const board = await requireBoard(call, parts);
      const run = await requireRun(call, board);
      const { path, branch, diff, missing } = await board.diff(run.task_id, call.disconnected);
      const nothing = { base: null, added: 0, removed: 0, files: [], text: "", isCut: false };
      return { path, branch, missing, ...nothing, ...(diff && { ...diff, files: [...diff.files] }) };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${TASK}/runs/:run/stop`,
    scope: "work",
    summary: "End a run and its processes; the task returns to its status before the claim",
    answer: changedTaskSchema,
    async handle(call, parts) {
      const board = await requireBoard(call, parts);
      const run = await requireRun(call, board);
      if (run.ended_at !== null)
        throw new AppError("run-superseded", `Run ${run.id} of ${run.task_id} has ended.`);
      const task = await makeMove(board, run.task_id, { move: "reclaim" }, call.disconnected);
      return toChangedTask(board, task, call.disconnected);
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${TASK}/files`,
    scope: "read",
    summary: "List the files of a task",
    answer: z.array(fileSchema),
    async handle(call, parts) {
      const { store } = await requireBoard(call, parts);
      const { attachments } = await store.show(await requireTaskId(call, store), call.disconnected);
      return attachments.map(toFile);
    },
  }),
  dashboardRoute({
    method: "POST",
    path: `${TASK}/files`,
    scope: "work",
    summary: "Attach a file to a task",
    query: z.strictObject({ name: z.string().min(1), type: z.string().optional() }),
    maxFileBytes: LARGEST_ATTACHMENT,
    answer: fileSchema,
    status: 201,
    async handle(call, parts) {
      const { store, client, files: folders } = await requireBoard(call, parts);
      const id = await requireTaskId(call, store);
      await store.show(id, call.disconnected); // a missing task must not leave a folder behind
      const { name, type: contentType } = call.query;
      const bytes = call.body as unknown as Buffer; // the gate has read the body as a file
      return toFile(
        await attachFile({ client, folders }, id, { name, bytes, contentType }, call.disconnected),
      );
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${TASK}/files/:file`,
    scope: "read",
    summary: "Read a file of a task, always as a download",
    async handle(call, parts) {
      const { store, files: folders } = await requireBoard(call, parts);
      const attachment = await requireFile(call, store);
      const bytes = await readAttachment({ store, folders }, attachment, call.disconnected);
      return new Response(new Uint8Array(bytes), {
        headers: {
          "content-type": "application/octet-stream",
          "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(attachment.filename).replaceAll("'", "%27")}`,
        },
      });
    },
  }),
  dashboardRoute({
    method: "DELETE",
    path: `${TASK}/files/:file`,
    scope: "work",
    summary: "Remove a file from a task",
    async handle(call, parts) {
      const { store, client, files: folders } = await requireBoard(call, parts);
      const { id } = await requireFile(call, store);
      await removeAttachment({ client, folders }, id, call.disconnected);
      return undefined;
    },
  }),
];

function requireNumber({ params }: Pick<DashboardCall, "params">, name: string): number {
  const number = Number(params[name]);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new AppError("usage-wrong", `${JSON.stringify(params[name])} is not a number.`);
}

async function requireRun(
  call: Pick<DashboardCall, "params" | "disconnected">,
  { store }: DashboardBoard,
): Promise<Run> {
  const taskId = await requireTaskId(call, store);
  const id = requireNumber(call, "run");
  const run = await store.findRun(id, call.disconnected);
  if (run?.task_id === taskId) return run;
  throw new AppError("task-not-found", `${taskId} has no run ${id}.`);
}

async function requireFile(
  call: Pick<DashboardCall, "params" | "disconnected">,
  store: DashboardBoard["store"],
) {
  const taskId = await requireTaskId(call, store);
  const number = requireNumber(call, "file");
  const { attachments } = await store.show(taskId, call.disconnected);
  const found = attachments.find(({ id }) => id === number);
  if (found !== undefined) return found;
  throw new AppError("attachment-missing", `${taskId} has no file ${number}.`);
}
