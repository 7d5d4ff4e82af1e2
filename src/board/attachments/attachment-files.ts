import { createHash, randomBytes } from "node:crypto";
import { constants, type FileHandle, link, open, realpath, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError, errnoOf, messageOf } from "../../lib/errors.ts";
import { ensurePrivateFolder, syncFolder } from "../../lib/files/files.ts";
import type { BoardClient } from "../board-client.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../task.ts";
import { moveToQuarantine, type Quarantine } from "../workspaces/quarantine.ts";
import { folderNameOf } from "../workspaces/workspace.ts";
import { attachmentName, numberedName } from "./attachment-name.ts";

const TEMPORARY = ".new-";

/** The folder of attachments, and the quarantine for removed attachments. */
export interface AttachmentFolders extends Quarantine {
  readonly attachments: string;
  /** Maximum bytes of content in the database; undefined when attachments are files on this host. */
  readonly sharedLimitBytes?: number | undefined;
  /** A task's attachment folder as the worker sees it, if mounted; without this function, the reader is on this host. */
  readonly folderForWorker?: ((taskId: string) => string | undefined) | undefined;
}

export interface NewFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly contentType?: string | undefined;
}

/**
 * Attaches a file to a task, under its own name or the next free numbered name. A file next to the database is written before
 * its row, so a crash leaves at most a file without a row, which `collectAttachments` removes.
 */
export async function attachFile(
  { client, folders }: { readonly client: BoardClient; readonly folders: AttachmentFolders },
  taskId: string,
  { name, bytes, contentType }: NewFile,
  signal: AbortSignal,
): Promise<Attachment> {
  requireSize(name, bytes.length);
  signal.throwIfAborted();
  const { sharedLimitBytes: limitBytes } = folders;
  const known = {
    size: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    ...(contentType && { contentType }),
  };
  if (limitBytes !== undefined) {
    const filename = attachmentName(name);
    const facts = { ...known, filename, storedPath: filename };
    return client.attach(taskId, { ...facts, shared: { bytes, limitBytes } }, signal);
  }
  const path = await writeAttachmentFile(
    join(folders.attachments, folderNameOf(taskId)),
    attachmentName(name),
    [bytes],
  );
  const row = { ...known, filename: basename(path), storedPath: path };
  try {
    return await client.attach(taskId, row, signal);
  } catch (error) {
    // A refusal changed nothing, so remove the file. After any other failure the row may exist and needs the file.
    if (error instanceof AppError && REFUSALS.has(error.code)) await rm(path, { force: true });
    throw error;
  }
}

const REFUSALS = new Set(["task-not-found", "task-input-invalid", "board-action-denied", "run-superseded"]);

export function requireSize(name: string, bytes: number): void {
  if (bytes > LARGEST_ATTACHMENT)
    throw new AppError(
      "attachment-too-large",
      `${basename(name)} has ${bytes} bytes; the limit is ${LARGEST_ATTACHMENT}.`,
    );
}

/** Writes a file atomically. `settle` moves it to its final name; the default picks a free numbered name. */
export async function writeAttachmentFile(
  folder: string,
  name: string,
  parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  settle: (temporary: string, folder: string, name: string) => Promise<string> = linkFreeName,
): Promise<string> {
  await ensurePrivateFolder(folder);
  const temporary = join(folder, `${TEMPORARY}${randomBytes(8).toString("hex")}`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      for await (const part of parts) await file.writeFile(part);
      await file.sync();
    } finally {
      await file.close();
    }
    const path = await settle(temporary, folder, name);
    await syncFolder(folder); // the file must be durable before its row is committed
    return path;
  } catch (error) {
    if (errnoOf(error) === undefined || error instanceof AppError) throw error;
    const why = errnoOf(error) === "ENOSPC" ? "the disk is full" : messageOf(error);
    throw new AppError("file-unwritable", `Cannot write ${name} to ${folder}: ${why}.`, { cause: error });
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Replaces an existing file: processes that copy concurrently write the same content. */
export async function replaceFile(temporary: string, folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  await rename(temporary, path);
  return path;
}

async function linkFreeName(temporary: string, folder: string, name: string): Promise<string> {
  for (let number = 0; ; number++) {
    const path = join(folder, numberedName(name, number));
    try {
      await link(temporary, path);
      return path;
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  }
}

/** Opens the file of an attachment for reading; throws `attachment-missing` when the path is not a file of its own task. */
export async function openAttachment(
  folders: AttachmentFolders,
  attachment: Attachment,
): Promise<FileHandle> {
  const path = await containedPath(folders, attachment);
  const file = path === undefined ? undefined : await openFile(path);
  if (file === undefined) throw missingAttachment(attachment);
  const facts = await file.stat();
  if (facts.isFile() && facts.size <= LARGEST_ATTACHMENT) return file;
  await file.close();
  throw missingAttachment(attachment);
}

/** Removes an attachment and moves its file to quarantine; returns false when the attachment does not exist. */
export async function removeAttachment(
  { client, folders }: { readonly client: BoardClient; readonly folders: AttachmentFolders },
  id: number,
  signal: AbortSignal,
): Promise<boolean> {
  const row = await client.removeAttachment(id, signal);
  if (row === undefined) return false;
  if (row.content_key !== null) await rm(copyFolder(folders, row), { recursive: true, force: true });
  const path = await containedPath(folders, row);
  if (path !== undefined) await moveToQuarantine(path, row.task_id, folders);
  return true;
}

/** The folder of this host's copy of content that is in the database. */
export function copyFolder(folders: AttachmentFolders, { task_id, id }: Attachment): string {
  return join(folders.attachments, folderNameOf(task_id), String(id));
}

/** The real path of the file; undefined unless both the stored path and the real path are in the folder of its task. */
async function containedPath(
  folders: AttachmentFolders,
  { task_id, stored_path }: Attachment,
): Promise<string | undefined> {
  const name = basename(stored_path);
  const folder = join(folders.attachments, folderNameOf(task_id));
  if (stored_path !== join(folder, name) || name.startsWith(".")) return undefined;
  try {
    const root = await realpath(folders.attachments);
    const real = await realpath(stored_path);
    return real === join(root, task_id, name) ? real : undefined;
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR" || errnoOf(error) === "ELOOP")
      return undefined;
    throw error;
  }
}

async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ELOOP") return undefined;
    throw error;
  }
}

export function missingAttachment({ filename, task_id }: Attachment): AppError {
  return new AppError("attachment-missing", `The file of attachment ${filename} of ${task_id} is missing.`);
}

/** Verifies the content of an attachment part by part; throws `attachment-damaged` when it differs. */
export class ContentVerifier {
  readonly #attachment: Attachment;
  readonly #hash = createHash("sha256");
  #bytes = 0;

  constructor(attachment: Attachment) {
    this.#attachment = attachment;
  }

  add(part: Uint8Array): void {
    this.#bytes += part.length;
    this.#hash.update(part);
    if (this.#bytes > this.#attachment.size)
      throw this.#damaged(`it has more than its ${this.#attachment.size} bytes`);
  }

  finish(): void {
    const { size, sha256 } = this.#attachment;
    if (this.#bytes < size) throw this.#damaged(`it has ${this.#bytes} of its ${size} bytes`);
    if (typeof sha256 === "string" && this.#hash.digest("hex") !== sha256)
      throw this.#damaged("its content was changed after it was attached");
  }

  #damaged(why: string): AppError {
    const { filename, task_id } = this.#attachment;
    return new AppError(
      "attachment-damaged",
      `The file of attachment ${filename} of ${task_id} is damaged: ${why}.`,
    );
  }
}
