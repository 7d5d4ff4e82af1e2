import { z } from "zod";
import { shorten } from "../../lib/text/shorten.ts";
import { withoutUndefined } from "../../lib/without-undefined.ts";
import type { Tool } from "../../tools/tool.ts";
import { attachmentsIn, locateAttachments } from "../attachments/attachment-content.ts";
import type { BoardEvent, Run, Task } from "../task.ts";
import { STATUSES } from "../transitions.ts";
import { type BoardToolContext, createBoardTool, taskId } from "./board-tool.ts";
import { renderContext } from "./render-context.ts";

const PAGE = 50;
const LARGEST_PAGE = 200;
const SHOWN_RUNS = 10;
const PAYLOAD_LENGTH = 300;

export function createShow({ store, caller, workspace, attachments, taskOf }: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_show",
    description: "Read a task: its context, history and links. Defaults to your own task.",
    input: z.strictObject({ task_id: taskId.optional() }),
    mutates: false,
    async run({ task_id }, signal) {
      const id = await taskOf(task_id, signal);
      const shown = await store.show(id, signal);
      const isOwn = caller.kind === "run" && caller.taskId === id;
      const folder = isOwn ? (workspace?.pathForWorker ?? workspace?.path) : undefined;
      const context = await store.context(id, signal);
      const files = await locateAttachments({ store, folders: attachments }, attachmentsIn(context), signal);
      return {
        task: rowOf(shown.task),
        parents: shown.parents,
        children: shown.children,
        comment_count: shown.comments.length,
        runs: shown.runs.slice(-SHOWN_RUNS).map(runOf),
        events: shown.events.map(eventOf),
        worker_context: renderContext(context, { workspace: folder, files }), // contains the texts, truncated and quoted
      };
    },
  });
}

export function createList({ store, client }: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_list",
    description: "List tasks of the board, highest priority first.",
    input: z.strictObject({
      assignee: z.string().optional().describe('A profile, or "none" for unassigned tasks'),
      status: z.enum(STATUSES).optional(),
      tenant: z.string().optional(),
      include_archived: z.boolean().default(false),
      limit: z.int().min(1).max(LARGEST_PAGE).default(PAGE),
    }),
    mutates: false,
    async run({ assignee, status, tenant, include_archived, limit }, signal) {
      await client.recompute(undefined, signal);
      const given = withoutUndefined({ assignee, status, tenant });
      const query = { ...given, includeArchived: include_archived, limit };
      const { tasks, next } = await store.list(query, signal);
      const truncated = next !== undefined;
      const nextLimit = truncated && limit < LARGEST_PAGE ? Math.min(limit * 2, LARGEST_PAGE) : undefined;
      return { tasks: tasks.map(rowOf), truncated, next_limit: nextLimit };
    },
  });
}

export function createAttachments({ store, attachments: folders, taskOf }: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_attachments",
    description: "List the attachments of a task. Defaults to your own task.",
    input: z.strictObject({ task_id: taskId.optional() }),
    mutates: false,
    async run({ task_id }, signal) {
      const { attachments } = await store.show(await taskOf(task_id, signal), signal);
      const files = await locateAttachments({ store, folders }, attachments, signal);
      return {
        attachments: attachments.map(({ id, filename, content_type, size, uploaded_by }) => {
          return { id, filename, content_type, size, uploaded_by, ...files.get(id) };
        }),
      };
    },
  });
}

function rowOf(task: Task) {
  const { id, seq, title, assignee, status, priority, tenant, created_by, block_kind, hold } = task;
  const { workspace_kind } = task;
  return {
    ...{ id, number: seq, title, assignee, status, priority, tenant },
    ...{ created_by, block_kind, hold, workspace_kind },
  };
}

function runOf({ id, profile, outcome, started_at, ended_at }: Run) {
  return { id, profile, outcome, started_at: timeOf(started_at), ended_at: timeOf(ended_at) };
}

function eventOf({ id, kind, actor, payload, created_at }: BoardEvent) {
  const text = JSON.stringify(payload);
  const shown = text.length <= PAYLOAD_LENGTH ? payload : shorten(text, PAYLOAD_LENGTH);
  return { id, kind, actor, at: timeOf(created_at), payload: shown };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
