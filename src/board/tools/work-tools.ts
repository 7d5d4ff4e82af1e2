import { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import type { Tool } from "../../tools/tool.ts";
import { copyArtifacts } from "../attachments/copy-artifacts.ts";
import { BLOCK_KINDS } from "../task.ts";
import { type BoardDesk, boardTool, taskId } from "./board-tool.ts";

export function createComplete(desk: BoardDesk): Tool {
  return boardTool({
    name: "kanban_complete",
    description: "End your task with its result. The last call of the work.",
    input: z.strictObject({
      task_id: taskId.optional(),
      summary: z.string().optional().describe("What was done, for whoever goes on; this or result is needed"),
      result: z.string().optional().describe("One short line"),
      metadata: z.record(z.string(), z.unknown()).optional(),
      created_cards: z.array(taskId).max(200).default([]).describe("Ids of tasks you made"),
      artifacts: z
        .array(z.string().min(1))
        .default([])
        .describe("Files in the workspace to keep; the rest is discarded"),
    }),
    mutates: true,
    exclusive: true,
    async run({ task_id, summary, result, metadata, created_cards, artifacts }, signal) {
      const id = desk.taskOf(task_id);
      if ((summary ?? "").trim() === "" && (result ?? "").trim() === "")
        throw new AppError("task-input-invalid", "A completion needs a summary or a result.");
      const copied = await keep(desk, id, artifacts, signal);
      const data = {
        ...(metadata && desk.redactData(metadata)),
        ...(copied.length > 0 && { artifacts: copied }),
      };
      const task = await desk.client.complete(
        id,
        {
          ...(summary !== undefined && { summary: desk.redact(summary) }),
          ...(result !== undefined && { result: desk.redact(result) }),
          ...(Object.keys(data).length > 0 && { metadata: data }),
          createdTasks: created_cards,
        },
        signal,
      );
      return { task_id: task.id, status: task.status, artifacts: copied.map(({ attachment }) => attachment) };
    },
  });
}

/** Before the completion, so that a file that is not there keeps the task running. */
async function keep(desk: BoardDesk, id: string, artifacts: readonly string[], signal: AbortSignal) {
  if (artifacts.length === 0) return [];
  const { store, client, workspace, attachments: place, caller } = desk;
  if (workspace === undefined || (caller.kind === "run" && caller.taskId !== id))
    throw new AppError("artifact-refused", `There is no workspace of ${id} here to take artifacts from.`);
  return copyArtifacts({ store, client, place, workspace }, id, artifacts, signal);
}

export function createBlock({ client, taskOf, redact }: BoardDesk): Tool {
  return boardTool({
    name: "kanban_block",
    description: "Stop work on your task because something is missing. The last call of the work.",
    input: z.strictObject({
      task_id: taskId.optional(),
      reason: z.string().min(1).describe("What is missing, and who can give it"),
      kind: z.enum(BLOCK_KINDS).optional(),
    }),
    mutates: true,
    exclusive: true,
    async run({ task_id, reason, kind }, signal) {
      const task = await client.block(taskOf(task_id), redact(reason), kind, signal);
      return { task_id: task.id, status: task.status };
    },
  });
}

export function createHeartbeat({ client, redact }: BoardDesk): Tool {
  return boardTool({
    name: "kanban_heartbeat",
    description: "Say that you are still at work, in long work every few minutes.",
    input: z.strictObject({ note: z.string().max(2_000).optional() }),
    mutates: true,
    async run({ note }, signal) {
      const { leaseUntil } = await client.renew(note === undefined ? {} : { note: redact(note) }, signal);
      return { claim_expires: new Date(leaseUntil).toISOString() };
    },
  });
}
