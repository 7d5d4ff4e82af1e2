import { createReadStream } from "node:fs";
import { join, posix, relative } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import type { BoardStore } from "../board-store.ts";
import type { WorkerContext } from "../operations/views/worker-context.ts";
import type { Attachment } from "../task.ts";
import { folderNameOf } from "../workspaces/workspace.ts";
import {
  type AttachmentFolders,
  ContentVerifier,
  copyFolder,
  missingAttachment,
  openAttachment,
  replaceFile,
  writeAttachmentFile,
} from "./attachment-files.ts";

/** The store and the folders from which attachments can be read. */
export interface AttachmentSource {
  readonly store: BoardStore;
  readonly folders: AttachmentFolders;
}

/** Yields the content of an attachment in parts; throws `attachment-missing` or `attachment-damaged`. */
export async function* attachmentParts(
  source: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const check = new ContentVerifier(attachment);
  for await (const part of storedParts(source, attachment, signal)) {
    check.add(part);
    yield part;
  }
  check.finish();
}

/** Checks the content of an attachment; returns the error, or undefined when the content is intact. */
export async function findContentProblem(
  source: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): Promise<AppError | undefined> {
  try {
    for await (const _ of attachmentParts(source, attachment, signal)) signal.throwIfAborted();
    return undefined;
  } catch (error) {
    if (isContentProblem(error)) return error;
    throw error;
  }
}

/** Whether an error concerns only the content of one attachment: missing or damaged. */
export function isContentProblem(error: unknown): error is AppError {
  return (
    error instanceof AppError && (error.code === "attachment-missing" || error.code === "attachment-damaged")
  );
}

async function* storedParts(
  { store, folders }: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { content_key: key, size } = attachment;
  if (key === null) {
    await using file = await openAttachment(folders, attachment);
    yield* file.createReadStream({ autoClose: false });
    return;
  }
  for (let number = 0, bytes = 0; bytes < size; number++) {
    const part = await store.attachmentPart(key, number, signal);
    if (part === undefined) throw missingAttachment(attachment);
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

/** The path of a file as the reader sees it, or why the file cannot be read. */
export type LocatedFile = { readonly path: string } | { readonly problem: string };

/** Finds the path of each file by the id of its attachment. Content in the database is copied to this host first. */
export async function locateAttachments(
  source: AttachmentSource,
  attachments: readonly Attachment[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, LocatedFile>> {
  const found = new Map<number, LocatedFile>();
  for (const attachment of attachments) found.set(attachment.id, await locate(source, attachment, signal));
  return found;
}

async function locate(
  source: AttachmentSource,
  attachment: Attachment,
  signal: AbortSignal,
): Promise<LocatedFile> {
  const { folders } = source;
  const { task_id: taskId } = attachment;
  const folder = folders.folderForWorker?.(taskId);
  if (folders.folderForWorker !== undefined && folder === undefined)
    return { problem: "only files of this task and its parents are available here" };
  try {
    const path = await localPath(source, attachment, signal);
    if (folder === undefined) return { path };
    return { path: posix.join(folder, relative(join(folders.attachments, folderNameOf(taskId)), path)) };
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
  const { folders } = source;
  if (attachment.content_key === null) {
    const problem = await findContentProblem(source, attachment, signal);
    if (problem !== undefined) throw problem;
    return attachment.stored_path;
  }
  const path = join(copyFolder(folders, attachment), attachment.filename);
  if (await isIntactCopy(attachment, path)) return path;
  const parts = attachmentParts(source, attachment, signal);
  return writeAttachmentFile(copyFolder(folders, attachment), attachment.filename, parts, replaceFile);
}

/** Whether this host's copy of an attachment is intact: other programs on this host could have changed it. */
async function isIntactCopy(attachment: Attachment, path: string): Promise<boolean> {
  const check = new ContentVerifier(attachment);
  try {
    for await (const part of createReadStream(path)) check.add(part as Buffer);
    check.finish();
    return true;
  } catch (error) {
    if (isContentProblem(error) || errnoOf(error) !== undefined) return false; // the caller copies it again
    throw error;
  }
}

/** All attachments in a worker context. */
export function attachmentsIn({ attachments, parents }: WorkerContext): readonly Attachment[] {
  return [...attachments, ...parents.flatMap((parent) => parent.attachments)];
}
