import { createReadStream } from "node:fs";
import { join, posix, relative } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import type { BoardStore } from "../board-store.ts";
import type { WorkerContext } from "../operations/worker-context.ts";
import type { Attachment } from "../task.ts";
import { folderNameOf } from "../workspaces/workspace.ts";
import {
  type AttachmentPlace,
  ContentCheck,
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

/**
 * The content of an attachment in parts, wherever it is kept; throws `attachment-missing`, or `attachment-damaged` once
 * the parts turn out to be another content than the one that was attached.
 */
export async function* attachmentParts(
  source: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const check = new ContentCheck(attachment);
  for await (const part of keptParts(source, attachment, signal)) {
    check.add(part);
    yield part;
  }
  check.finish();
}

/** What is wrong with the content of an attachment; undefined when it is as it was attached. */
export async function findDamage(
  source: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): Promise<AppError | undefined> {
  try {
    for await (const _ of attachmentParts(source, attachment, signal)) signal.throwIfAborted();
    return undefined;
  } catch (error) {
    if (isDamage(error)) return error;
    throw error;
  }
}

/** Whether an error says that the content of one attachment is lost, while all else is readable. */
export function isDamage(error: unknown): error is AppError {
  return (
    error instanceof AppError && (error.code === "attachment-missing" || error.code === "attachment-damaged")
  );
}

async function* keptParts(
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
    const damage = await findDamage(source, attachment, signal);
    if (damage !== undefined) throw damage;
    return attachment.stored_path;
  }
  const path = join(copyFolder(place, attachment), attachment.filename);
  if (await isCopyOf(attachment, path)) return path;
  const parts = attachmentParts(source, attachment, signal);
  return keepFile(copyFolder(place, attachment), attachment.filename, parts, replace);
}

/** Whether this host's copy of an attachment still has its content: whatever ran here could have changed it. */
async function isCopyOf(attachment: Attachment, path: string): Promise<boolean> {
  const check = new ContentCheck(attachment);
  try {
    for await (const part of createReadStream(path)) check.add(part as Buffer);
    check.finish();
    return true;
  } catch (error) {
    if (isDamage(error) || errnoOf(error) !== undefined) return false; // it is made again
    throw error;
  }
}

/** All files that a context names. */
export function attachmentsIn({ attachments, parents }: WorkerContext): readonly Attachment[] {
  return [...attachments, ...parents.flatMap((parent) => parent.attachments)];
}
