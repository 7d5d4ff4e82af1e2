import { z } from "zod";
import { withoutUndefined } from "../../lib/without-undefined.ts";
import type { Tool } from "../../tools/tool.ts";
import type { NewTask } from "../operations/tasks/create-task.ts";
import { type Task, WORKSPACE_KINDS } from "../task.ts";
import { type BoardToolContext, createBoardTool, taskId } from "./board-tool.ts";

const createInput = z.strictObject({
  title: z.string().min(1),
  assignee: z.string().min(1).describe("The profile that does the work"),
  body: z.string().optional().describe("What to do, and how to tell that it is done"),
  parents: z.array(taskId).max(200).default([]).describe("Tasks that must be done first"),
  tenant: z.string().optional(),
  priority: z.int().optional().describe("Higher priorities run first"),
  workspace_kind: z.enum(WORKSPACE_KINDS).optional().describe("Defaults to that of your own task"),
  workspace_path: z.string().min(1).optional(),
  branch: z.string().optional(),
  triage: z.boolean().default(false).describe("A rough idea that must be specified first"),
  initial_status: z.enum(["running", "blocked"]).optional(),
  scheduled_at: z.iso.datetime({ offset: true }).optional(),
  idempotency_key: z
    .string()
    .optional()
    .describe("A second call with the same key returns the existing task"),
  max_runtime_seconds: z.int().min(1).optional(),
  model: z.string().optional(),
  provider: z.string().optional(),
});
type CreateInput = z.infer<typeof createInput>;

export function createCreateTool(board: BoardToolContext): Tool {
  const { store, client, caller, subscription } = board;
  return createBoardTool({
    name: "kanban_create",
    description: "Create a task for a profile.",
    input: createInput,
    mutates: true,
    effectsOf: () => ({ instructsAgents: true }),
    async run(input, signal) {
      const own = caller.kind === "run" ? (await store.show(caller.taskId, signal)).task : undefined;
      const newTask = newTaskOf(input, await board.taskIds(input.parents, signal), own);
      await board.requireStartable(newTask);
      const { task, created } = await client.create(newTask, signal);
      const subscribed = created && subscription !== undefined;
      if (subscribed) await client.subscribe(task.id, subscription, signal);
      return { task_id: task.id, number: task.seq, status: task.status, created, subscribed };
    },
  });
}

/** Workspace and tenant default to those of the worker's own task. */
function newTaskOf(input: CreateInput, parents: readonly string[], own: Task | undefined): NewTask {
  const { workspace_kind, workspace_path } = input;
  const inherits = workspace_kind === undefined && workspace_path === undefined && own !== undefined;
  const kind = inherits
    ? own.workspace_kind
    : (workspace_kind ?? (workspace_path === undefined ? undefined : "dir"));
  const path = inherits ? own.workspace_path : workspace_path;
  return {
    title: input.title,
    assignee: input.assignee,
    parents,
    triage: input.triage,
    ...withoutUndefined({
      body: input.body,
      tenant: input.tenant ?? own?.tenant ?? undefined,
      priority: input.priority,
      workspaceKind: kind,
      workspacePath: path ?? undefined,
      branchName: input.branch,
      initialStatus: input.initial_status === "blocked" ? ("blocked" as const) : undefined,
      scheduledAt: input.scheduled_at === undefined ? undefined : Date.parse(input.scheduled_at),
      idempotencyKey: input.idempotency_key,
      maxRuntimeSeconds: input.max_runtime_seconds,
      modelOverride: input.model,
      providerOverride: input.provider,
    }),
  };
}
