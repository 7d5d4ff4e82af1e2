import { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import type { Tool } from "../../tools/tool.ts";
import { copyArtifacts } from "../attachments/copy-artifacts.ts";
import { BLOCK_KINDS } from "../task.ts";
import { type BoardToolContext, createBoardTool, taskId } from "./board-tool.ts";

export function createComplete(board: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_complete",
    description: "Complete your task with its result. Make this your last call.",
    input: z.strictObject({
      task_id: taskId.optional(),
      summary: z
        .string()
        .optional()
        .describe("What was done, for the next worker; required unless result is given"),
      result: z.string().optional().describe("One short line"),
      metadata: z.record(z.string(), z.unknown()).optional(),
      created_cards: z.array(taskId).max(200).default([]).describe("Ids of tasks you created"),
      artifacts: z
        .array(z.string().min(1))
        .default([])
        .describe("Files in the workspace to keep; all others are discarded"),
    }),
    mutates: true,
    exclusive: true,
    async run({ task_id, summary, result, metadata, created_cards, artifacts }, signal) {
      const id = await board.taskOf(task_id, signal);
      if ((summary ?? "").trim() === "" && (result ?? "").trim() === "")
        throw new AppError("task-input-invalid", "Give a summary or a result.");
      const copied = await keepArtifacts(board, id, artifacts, signal);
      const data = {
        ...(metadata && board.redactData(metadata)),
        ...(copied.length > 0 && { artifacts: copied }),
      };
      const task = await board.client.complete(
        id,
        {
          ...(summary !== undefined && { summary: board.redact(summary) }),
          ...(result !== undefined && { result: board.redact(result) }),
          ...(Object.keys(data).length > 0 && { metadata: data }),
          createdTasks: await board.taskIds(created_cards, signal),
        },
        signal,
      );
      return { task_id: task.id, status: task.status, artifacts: copied.map(({ attachment }) => attachment) };
    },
  });
}

/** Runs before the completion, so that the task keeps running when a file is missing. */
async function keepArtifacts(
  board: BoardToolContext,
  id: string,
  artifacts: readonly string[],
  signal: AbortSignal,
) {
  if (artifacts.length === 0) return [];
  const { store, client, workspace, attachments: folders, caller } = board;
  if (workspace === undefined || (caller.kind === "run" && caller.taskId !== id))
    throw new AppError(
      "artifact-refused",
      `Artifacts cannot be copied: the workspace of ${id} is not available here.`,
    );
  return copyArtifacts({ store, client, folders, workspace }, id, artifacts, signal);
}

export function createBlock({ client, taskOf, redact }: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_block",
    description: "Stop work on your task because something is missing. Make this your last call.",
    input: z.strictObject({
      task_id: taskId.optional(),
      reason: z.string().min(1).describe("What is missing, and who can provide it"),
      kind: z.enum(BLOCK_KINDS).optional(),
    }),
    mutates: true,
    exclusive: true,
    async run({ task_id, reason, kind }, signal) {
      const task = await client.block(await taskOf(task_id, signal), redact(reason), kind, signal);
      return { task_id: task.id, status: task.status };
    },
  });
}

export function createHeartbeat({ client, redact }: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_heartbeat",
    description: "Report that you are still working. Call it every few minutes during long work.",
    input: z.strictObject({ note: z.string().max(2_000).optional() }),
    mutates: true,
    async run({ note }, signal) {
      const { leaseUntil } = await client.renew(note === undefined ? {} : { note: redact(note) }, signal);
      return { claim_expires: new Date(leaseUntil).toISOString() };
    },
  });
}
