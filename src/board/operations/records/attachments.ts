import { randomBytes } from "node:crypto";
import { AppError } from "../../../lib/errors.ts";
import { numberedName } from "../../attachments/attachment-name.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireOwnOrCreatedTask, requireRight } from "../../caller.ts";
import { all, first, only, run, type Steps } from "../../database/steps.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../../task.ts";
import { invalidInput, optionalName, requireInteger, requireText } from "../../task-text.ts";
import { lockGraph, requireLiveRun, requireLockedTask } from "../views/rows.ts";

const FILENAME_LENGTH = 200;

export interface NewAttachment {
  readonly filename: string;
  readonly storedPath: string;
  readonly contentType?: string;
  readonly size: number;
  /** Hash of the content, in hex. */
  readonly sha256?: string;
  /** Content to store in the database; without it the content is a file next to the database. */
  readonly shared?: SharedContent;
}

export interface SharedContent {
  readonly bytes: Uint8Array;
  /** Maximum total bytes of attachments that the database may store for this board. */
  readonly limitBytes: number;
}

/** Adds an attachment, optionally with its content; a name that is already used becomes `name (1).ext`. */
export function* addAttachment(
  transaction: BoardTransaction,
  taskId: string,
  file: NewAttachment,
): Steps<Attachment> {
  requireRight(transaction.caller, "attach");
  const wanted = requireText(file.filename, "file name", FILENAME_LENGTH);
  if (/^\.|[/\\\p{Cc}]/u.test(wanted))
    throw invalidInput("A file name must not contain folders, control characters or a leading dot.");
  const size = requireInteger(file.size, "size", 0, LARGEST_ATTACHMENT);
  const key = file.shared === undefined ? null : yield* insertContent(file.shared);
  requireOwnOrCreatedTask(transaction.caller, yield* requireLockedTask(taskId));
  yield* requireLiveRun(transaction.caller);
  const taken = yield* all<{ filename: string }>("select filename from attachment where task_id = :taskId", {
    taskId,
  });
  const filename = freeName(wanted, new Set(taken.map((row) => row.filename)));
  const row = yield* only<Attachment>(
    `insert into attachment (task_id, filename, stored_path, content_key, content_type, size, sha256, uploaded_by, created_at)
     values (:taskId, :filename, :path, :key, :type, :size, :sha256, :by, hermes_now()) returning *`,
    {
      taskId,
      filename,
      path: requireText(file.storedPath, "path", 4_096),
      key,
      type: optionalName(file.contentType, "content type"),
      size,
      sha256: file.sha256 ?? null,
      by: transaction.actor,
    },
  );
  transaction.recordEvent({ taskId, kind: "attached", payload: { filename, size, by: transaction.actor } });
  return row;
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 1; taken.has(free); number++) free = numberedName(name, number);
  return free;
}

const PART_BYTES = 1024 * 1024;

/** Stores content in parts, before any lock is taken, so that a slow upload blocks no writer. */
export function* insertContent({ bytes, limitBytes }: SharedContent): Steps<string> {
  const key = randomBytes(16).toString("hex");
  for (let number = 0; number * PART_BYTES < bytes.length; number++)
    yield* run(
      "insert into attachment_part (content_key, number, content) values (:key, :number, :content)",
      {
        key,
        number,
        content: bytes.subarray(number * PART_BYTES, (number + 1) * PART_BYTES),
      },
    );
  yield* lockGraph(); // otherwise concurrent uploads could together exceed the limit
  const { held } = yield* only<{ held: number }>(
    "select cast(coalesce(sum(size), 0) as {int}) as held from attachment where content_key is not null",
  );
  if (held + bytes.length <= limitBytes) return key;
  throw new AppError(
    "attachment-too-large",
    `The board stores ${held} bytes of attachments; ${bytes.length} more would exceed the limit of ${limitBytes}.`,
    { hint: "Remove attachments, purge tasks, or raise kanban.shared_attachments_mb." },
  );
}

/** Loads one part of the content of an attachment; undefined after the last part. */
export function* loadAttachmentPart(key: string, number: number): Steps<Uint8Array | undefined> {
  const row = yield* first<{ content: Uint8Array }>(
    "select content from attachment_part where content_key = :key and number = :number",
    { key, number },
  );
  return row?.content;
}

/** Deletes an attachment and returns it so that the caller can remove its file; undefined when it does not exist. */
export function* removeAttachment(transaction: BoardTransaction, id: number): Steps<Attachment | undefined> {
  requireRight(transaction.caller, "edit");
  const row = yield* first<Attachment>("delete from attachment where id = :id returning *", { id });
  if (row === undefined) return undefined;
  yield* run("delete from attachment_part where content_key = :key", { key: row.content_key });
  const { task_id: taskId, filename, size } = row;
  transaction.recordEvent({
    taskId,
    kind: "attachment_removed",
    payload: { filename, size, by: transaction.actor },
  });
  return row;
}

/** The metadata of all attachments of the board. */
export function* listAttachments(): Steps<readonly Attachment[]> {
  return yield* all<Attachment>("select * from attachment order by id");
}
