import { z } from "zod";
import { redactJson } from "../../lib/redact/redact-json.ts";
import type { Effects } from "../../policy/decision.ts";
import { defineTool, failedJson, okJson } from "../../tools/define-tool.ts";
import type { Tool, ToolCallContext } from "../../tools/tool.ts";
import type { AttachmentFolders } from "../attachments/attachment-files.ts";
import type { WorkspacePaths } from "../attachments/copy-artifacts.ts";
import type { BoardClient } from "../board-client.ts";
import type { BoardStore } from "../board-store.ts";
import type { Caller } from "../caller.ts";
import { findTaskId } from "../find-task-id.ts";
import type { NewSubscription } from "../operations/records/subscriptions.ts";
import type { NewTask } from "../operations/tasks/create-task.ts";
import { invalidInput } from "../task-text.ts";

export interface BoardToolParts {
  readonly store: BoardStore;
  /** The caller that the tools act for; determines the available tools, their rights and the recorded author. */
  readonly caller: Caller;
  readonly attachments: AttachmentFolders;
  /** The workspace of the caller; without it, files cannot be attached by path. */
  readonly workspace?: WorkspacePaths | undefined;
  /** The chat that is subscribed to tasks created by these tools. */
  readonly subscription?: NewSubscription | undefined;
  /** Throws for a new task that would fail later, when its worker starts. */
  requireStartable(task: NewTask): Promise<void>;
  /** Removes secrets from text that is written to the board. */
  redact(text: string): string;
}

/** The dependencies that all tools of one caller share. */
export interface BoardToolContext extends BoardToolParts {
  readonly client: BoardClient;
  /** The id of the named task, or of the caller's own task; throws when there is neither. */
  taskOf(named: string | undefined, signal: AbortSignal): Promise<string>;
  /** The ids of tasks that are named by id, number or id prefix. The store refuses an unknown name. */
  taskIds(names: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  redactData(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
}

export function createBoardToolContext(parts: BoardToolParts): BoardToolContext {
  const { store, caller, redact } = parts;
  const idOf = async (name: string, signal: AbortSignal): Promise<string> =>
    (await findTaskId(store, name, signal)) ?? name;
  return {
    ...parts,
    client: store.as(caller),
    async taskOf(named, signal) {
      if (named !== undefined) return idOf(named, signal);
      if (caller.kind !== "run") throw invalidInput("No task was named. Give its task_id.");
      return caller.taskId;
    },
    taskIds: (names, signal) => Promise.all(names.map((name) => idOf(name, signal))),
    redactData: (data) => redactJson(data, redact) as Readonly<Record<string, unknown>>,
  };
}

/** Schema of a task in tool arguments: its id, its number or the first digits of its id. */
export const taskId = z.string().trim().min(1).max(100);

interface BoardToolSpec<Schema extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  readonly mutates: boolean;
  readonly exclusive?: boolean;
  readonly effectsOf?: (input: z.infer<Schema>) => Effects;
  run(input: z.infer<Schema>, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
}

/** Creates a tool of the toolset `kanban`; it returns `{"ok": true, …}` or `{"ok": false, "error": …, "hint": …}`. */
export function createBoardTool<Schema extends z.ZodObject>({ run, ...spec }: BoardToolSpec<Schema>): Tool {
  return defineTool({
    ...spec,
    toolset: "kanban",
    run: async (input: z.infer<Schema>, { signal }: ToolCallContext) =>
      okJson({ ok: true, ...(await run(input, signal)) }),
    refuse: (error, hint) => failedJson({ ok: false, error, hint }),
  });
}
