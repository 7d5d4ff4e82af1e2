import { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import type { Tool } from "../../tools/tool.ts";
import { attachFile, type NewFile } from "../attachments/attachment-files.ts";
import { readWorkspaceFile } from "../attachments/copy-artifacts.ts";
import { type BoardDesk, boardTool, taskId } from "./board-tool.ts";

export function createComment({ client, taskOf, redact }: BoardDesk): Tool {
  return boardTool({
    name: "kanban_comment",
    description: "Write a comment on a task. Without task_id, on your own.",
    input: z.strictObject({ task_id: taskId.optional(), body: z.string().min(1) }),
    mutates: true,
    async run({ task_id, body }, signal) {
      const comment = await client.comment(taskOf(task_id), redact(body), signal);
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
    .describe("A file of your workspace; or give filename and content_base64"),
  filename: z.string().min(1).optional(),
  content_base64: z.string().optional(),
  content_type: z.string().optional(),
});

export function createAttach(desk: BoardDesk): Tool {
  return boardTool({
    name: "kanban_attach",
    description: "Keep a file with a task, up to 25 MiB. Without task_id, with your own.",
    input: attachInput,
    mutates: true,
    async run(input, signal) {
      const { client, attachments: place } = desk;
      const id = desk.taskOf(input.task_id);
      const file = await fileOf(input, desk);
      const { id: attachment, filename, size } = await attachFile({ client, place }, id, file, signal);
      return { attachment_id: attachment, task_id: id, filename, size };
    },
  });
}

async function fileOf(input: z.infer<typeof attachInput>, { workspace }: BoardDesk): Promise<NewFile> {
  const { path, filename, content_base64, content_type: contentType } = input;
  if (path !== undefined && content_base64 === undefined) {
    if (workspace === undefined)
      throw wrong("There is no workspace here; send the content instead of a path.");
    const { name, bytes } = await readWorkspaceFile(workspace, path);
    return { name: filename ?? name, bytes, contentType };
  }
  if (path !== undefined || content_base64 === undefined || filename === undefined)
    throw wrong("Give either path, or filename and content_base64.");
  const text = content_base64.replace(/\s/g, "");
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw wrong("content_base64 is not base64.");
  return { name: filename, bytes: Buffer.from(text, "base64"), contentType };
}

export function createLink({ client }: BoardDesk): Tool {
  return boardTool({
    name: "kanban_link",
    description: "Make a task wait for another one.",
    input: z.strictObject({
      parent_id: taskId.describe("Must be done first"),
      child_id: taskId.describe("Waits"),
    }),
    mutates: true,
    async run({ parent_id, child_id }, signal) {
      const { changed, demoted } = await client.link(parent_id, child_id, signal);
      return { parent_id, child_id, changed, demoted };
    },
  });
}

export function createUnblock({ client, redact }: BoardDesk): Tool {
  return boardTool({
    name: "kanban_unblock",
    description: "Let a blocked or scheduled task go on.",
    input: z.strictObject({ task_id: taskId, reason: z.string().optional() }),
    mutates: true,
    async run({ task_id, reason }, signal) {
      const task = await client.unblock(task_id, reason === undefined ? undefined : redact(reason), signal);
      return { task_id: task.id, status: task.status };
    },
  });
}

function wrong(message: string): AppError {
  return new AppError("task-input-invalid", message);
}
