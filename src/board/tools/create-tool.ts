import { z } from "zod";
import type { Tool } from "../../tools/tool.ts";
import type { NewTask } from "../operations/create-task.ts";
import { type Task, WORKSPACE_KINDS } from "../task.ts";
import { type BoardDesk, boardTool, taskId } from "./board-tool.ts";

const createInput = z.strictObject({
  title: z.string().min(1),
  assignee: z.string().min(1).describe("The profile that does it"),
  body: z.string().optional().describe("What is wanted, and how to tell that it is done"),
  parents: z.array(taskId).max(200).default([]).describe("Tasks that must be done first"),
  tenant: z.string().optional(),
  priority: z.int().optional().describe("Higher comes first"),
  workspace_kind: z.enum(WORKSPACE_KINDS).optional().describe("Left out: as in your own task"),
  workspace_path: z.string().min(1).optional(),
  branch: z.string().optional(),
  triage: z.boolean().default(false).describe("A rough idea, to be worked out first"),
  initial_status: z.enum(["running", "blocked"]).optional(),
  scheduled_at: z.iso.datetime({ offset: true }).optional(),
  idempotency_key: z.string().optional().describe("The same key makes no second task"),
  max_runtime_seconds: z.int().min(1).optional(),
  model: z.string().optional(),
  provider: z.string().optional(),
});
type CreateInput = z.infer<typeof createInput>;

export function createCreate({ store, client, caller, subscription }: BoardDesk): Tool {
  return boardTool({
    name: "kanban_create",
    description: "Make a new task for a profile.",
    input: createInput,
    mutates: true,
    async run(input, signal) {
      const own = caller.kind === "run" ? (await store.show(caller.taskId, signal)).task : undefined;
      const { task, created } = await client.create(newTaskOf(input, own), signal);
      if (created && subscription !== undefined) await client.subscribe(task.id, subscription, signal);
      const subscribed = created && subscription !== undefined;
      return { task_id: task.id, status: task.status, created, subscribed };
    },
  });
}

/** What a worker leaves out is as in its own task. */
function newTaskOf(input: CreateInput, own: Task | undefined): NewTask {
  const { workspace_kind, workspace_path } = input;
  const inherits = workspace_kind === undefined && workspace_path === undefined && own !== undefined;
  const kind = inherits
    ? own.workspace_kind
    : (workspace_kind ?? (workspace_path === undefined ? undefined : "dir"));
  const path = inherits ? own.workspace_path : workspace_path;
  return {
    title: input.title,
    assignee: input.assignee,
    parents: input.parents,
    triage: input.triage,
    ...given({
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

type Given<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> };

function given<Values extends object>(values: Values): Given<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Given<Values>;
}
