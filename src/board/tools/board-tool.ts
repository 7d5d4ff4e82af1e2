import { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import { redactJson } from "../../lib/redact/redact-json.ts";
import { defineTool, failedJson, okJson } from "../../tools/define-tool.ts";
import type { Tool, ToolCallContext } from "../../tools/tool.ts";
import type { AttachmentPlace } from "../attachments/attachment-files.ts";
import type { SeenWorkspace } from "../attachments/copy-artifacts.ts";
import type { BoardClient, BoardStore } from "../board-store.ts";
import type { Caller } from "../caller.ts";
import type { NewSubscription } from "../operations/notes.ts";

export interface BoardToolParts {
  readonly store: BoardStore;
  /** Who the tools act for. It decides which tools there are, what they may, and who is recorded. */
  readonly caller: Caller;
  readonly attachments: AttachmentPlace;
  /** Where the caller works; without it no file can be handed over by its path. */
  readonly workspace?: SeenWorkspace | undefined;
  /** The chat that hears of tasks made here. */
  readonly subscription?: NewSubscription | undefined;
  /** Hides secrets in all that is written to the board. */
  redact(text: string): string;
}

/** What the tools of one caller share. */
export interface BoardDesk extends BoardToolParts {
  readonly client: BoardClient;
  /** The task that is meant: the one named, or the caller's own. */
  taskOf(given: string | undefined): string;
  redactData(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
}

export function createDesk(parts: BoardToolParts): BoardDesk {
  const { store, caller, redact } = parts;
  return {
    ...parts,
    redact: (text) => redact(text),
    client: store.as(caller),
    taskOf(given) {
      const id = given ?? (caller.kind === "run" ? caller.taskId : undefined);
      if (id === undefined)
        throw new AppError("task-input-invalid", "Which task is meant? Give its task_id.");
      return id;
    },
    redactData: (data) => redactJson(data, redact) as Readonly<Record<string, unknown>>,
  };
}

/** The id of a task in the arguments of a tool. */
export const taskId = z.string().trim().min(1).max(100);

interface BoardToolSpec<Schema extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  readonly mutates: boolean;
  readonly exclusive?: boolean;
  run(input: z.infer<Schema>, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
}

/** A tool of the toolset `kanban`, which answers `{"ok": true, …}` or `{"ok": false, "error": …, "hint": …}`. */
export function boardTool<Schema extends z.ZodObject>({ run, ...spec }: BoardToolSpec<Schema>): Tool {
  return defineTool({
    ...spec,
    toolset: "kanban",
    run: async (input: z.infer<Schema>, { signal }: ToolCallContext) =>
      okJson({ ok: true, ...(await run(input, signal)) }),
    refuse: (error, hint) => failedJson({ ok: false, error, hint }),
  });
}
