import { join, posix, relative } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { sizeOf } from "../../lib/files.ts";
import type { BoardStore } from "../board-store.ts";
import type { WorkerContext } from "../operations/worker-context.ts";
import type { Attachment } from "../task.ts";
import { folderNameOf } from "../workspaces/workspace.ts";
import {
  type AttachmentPlace,
  containedPath,
  copyFolder,
  keepFile,
  missing,
  openAttachment,
  replace,
} from "./attachment-files.ts";

/** From where the files of attachments can be read. */
export interface AttachmentSource {
  readonly store: BoardStore;
  readonly place: AttachmentPlace;
}

/** The content of an attachment in parts, wherever it is kept; throws `attachment-missing`. */
export async function* attachmentParts(
  { store, place }: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { content_key: key, size } = attachment;
  if (key === null) {
    await using file = await openAttachment(place, attachment);
    yield* file.createReadStream({ autoClose: false });
    return;
  }
  for (let number = 0, bytes = 0; bytes < size; number++) {
    const part = await store.attachmentPart(key, number, signal);
    if (part === undefined) throw missing(attachment);
    bytes += part.length;
    yield part;
  }
}

export async function readAttachment(
  source: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of attachmentParts(source, attachment, signal)) parts.push(part);
  return Buffer.concat(parts);
}

/** Where the reader finds a file, or why it cannot read it. */
export type FoundFile = { readonly path: string } | { readonly problem: string };

/** Where the reader finds each file, by the id of its attachment. What is only in the database is copied first. */
export async function locateAttachments(
  source: AttachmentSource,
  attachments: readonly Attachment[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, FoundFile>> {
  const found = new Map<number, FoundFile>();
  for (const attachment of attachments) found.set(attachment.id, await locate(source, attachment, signal));
  return found;
}

async function locate(
  source: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): Promise<FoundFile> {
  const { place } = source;
  const { task_id: taskId } = attachment;
  const folder = place.seenAs?.(taskId);
  if (place.seenAs !== undefined && folder === undefined)
    return { problem: "only files of this task and of the tasks before it are here" };
  try {
    const path = await localPath(source, attachment, signal);
    if (folder === undefined) return { path };
    return { path: posix.join(folder, relative(join(place.attachments, folderNameOf(taskId)), path)) };
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    return { problem: error.message };
  }
}

async function localPath(
  source: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): Promise<string> {
  const { place } = source;
  if (attachment.content_key === null) {
    if ((await containedPath(place, attachment)) === undefined) throw missing(attachment);
    return attachment.stored_path;
  }
  const path = join(copyFolder(place, attachment), attachment.filename);
  if ((await sizeOf(path)) === attachment.size) return path; // it was given its name when it was whole
  const parts = attachmentParts(source, attachment, signal);
  return keepFile(copyFolder(place, attachment), attachment.filename, parts, replace);
}

/** All files that a context names. */
export function attachmentsIn({ attachments, parents }: WorkerContext): readonly Attachment[] {
  return [...attachments, ...parents.flatMap((parent) => parent.attachments)];
}
