import { z } from "zod";
import type { Tool } from "../../tools/tool.ts";
import { attachFile, type NewFile } from "../attachments/attachment-files.ts";
import { readWorkspaceFile } from "../attachments/copy-artifacts.ts";
import { invalidInput } from "../task-text.ts";
import { type BoardToolContext, createBoardTool, taskId } from "./board-tool.ts";

export function createComment({ client, taskOf, redact }: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_comment",
    description: "Comment on a task. Defaults to your own task.",
    input: z.strictObject({ task_id: taskId.optional(), body: z.string().min(1) }),
    mutates: true,
    effectsOf: (input) => ({ instructsAgents: input.task_id !== undefined }),
    async run({ task_id, body }, signal) {
      const comment = await client.comment(await taskOf(task_id, signal), redact(body), signal);
      return { comment_id: comment.id, task_id: comment.task_id, author: comment.author };
    },
  });
}

const attachInput = z.strictObject({
  task_id: taskId.optional(),
  path: z
    .string()
    .min(1)
    .optional()
    .describe("A file in your workspace; alternatively give filename and content_base64"),
  filename: z.string().min(1).optional(),
  content_base64: z.string().optional(),
  content_type: z.string().optional(),
});

export function createAttach(board: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_attach",
    description: "Attach a file to a task, up to 25 MiB. Defaults to your own task.",
    input: attachInput,
    mutates: true,
    async run(input, signal) {
      const { client, attachments: folders } = board;
      const id = await board.taskOf(input.task_id, signal);
      const file = await fileOf(input, board);
      const { id: attachment, filename, size } = await attachFile({ client, folders }, id, file, signal);
      return { attachment_id: attachment, task_id: id, filename, size };
    },
  });
}

async function fileOf(input: z.infer<typeof attachInput>, { workspace }: BoardToolContext): Promise<NewFile> {
  const { path, filename, content_base64, content_type: contentType } = input;
  if (path !== undefined && content_base64 === undefined) {
    if (workspace === undefined)
      throw invalidInput("You have no workspace; give filename and content_base64 instead of path.");
    const { name, bytes } = await readWorkspaceFile(workspace, path);
    return { name: filename ?? name, bytes, contentType };
  }
  if (path !== undefined || content_base64 === undefined || filename === undefined)
    throw invalidInput("Give either path, or filename and content_base64.");
  const text = content_base64.replace(/\s/g, "");
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw invalidInput("content_base64 is not base64.");
  return { name: filename, bytes: Buffer.from(text, "base64"), contentType };
}

export function createLink({ client, taskIds }: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_link",
    description: "Make a task wait for another task.",
    input: z.strictObject({
      parent_id: taskId.describe("The task that must be done first"),
      child_id: taskId.describe("The task that waits"),
    }),
    mutates: true,
    async run(input, signal) {
      const [parent_id = "", child_id = ""] = await taskIds([input.parent_id, input.child_id], signal);
      const { changed, demoted } = await client.link(parent_id, child_id, signal);
      return { parent_id, child_id, changed, demoted };
    },
  });
}

export function createUnblock({ client, taskOf, redact }: BoardToolContext): Tool {
  return createBoardTool({
    name: "kanban_unblock",
    description: "Unblock a blocked or scheduled task.",
    input: z.strictObject({ task_id: taskId, reason: z.string().optional() }),
    mutates: true,
    async run({ task_id, reason }, signal) {
      const id = await taskOf(task_id, signal);
      const task = await client.unblock(id, reason === undefined ? undefined : redact(reason), signal);
      return { task_id: task.id, status: task.status };
    },
  });
}
