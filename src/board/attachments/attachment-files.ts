import { randomBytes } from "node:crypto";
import { constants, type FileHandle, link, open, realpath, rm } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";
import type { BoardClient } from "../board-store.ts";
import type { WorkerContext } from "../operations/worker-context.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../task.ts";
import { moveAside, type Quarantine } from "../workspaces/quarantine.ts";
import { folderNameOf } from "../workspaces/workspace.ts";
import { attachmentName, numberedName } from "./attachment-name.ts";

const TEMPORARY = ".new-";

/** Where the files of attachments lie, and where removed ones go first. */
export interface AttachmentPlace extends Quarantine {
  readonly attachments: string;
  /**
   * The folder of a task's files in the environment of a worker; undefined for a task whose files are not there. Without
   * this function the reader is on this machine.
   */
  readonly seenAs?: ((taskId: string) => string | undefined) | undefined;
}

export interface NewFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly contentType?: string | undefined;
}

/**
 * Keeps a file with a task, under its own name or the next one that is free. The file is there before its row, so a crash
 * leaves at most a file that nobody knows of, which `collectAttachments` finds.
 */
export async function attachFile(
  { client, place }: { readonly client: BoardClient; readonly place: AttachmentPlace },
  taskId: string,
  { name, bytes, contentType }: NewFile,
  signal: AbortSignal,
): Promise<Attachment> {
  requireSize(name, bytes.length);
  signal.throwIfAborted();
  const path = await keepFile(join(place.attachments, folderNameOf(taskId)), attachmentName(name), bytes);
  const row = {
    filename: basename(path),
    storedPath: path,
    size: bytes.length,
    ...(contentType && { contentType }),
  };
  try {
    return await client.attach(taskId, row, signal);
  } catch (error) {
    // A refusal changed nothing. After any other failure the row may exist, and then the file must.
    if (error instanceof AppError && REFUSALS.has(error.code)) await rm(path, { force: true });
    throw error;
  }
}

const REFUSALS = new Set(["task-not-found", "task-input-invalid", "board-action-denied", "run-superseded"]);

export function requireSize(name: string, bytes: number): void {
  if (bytes > LARGEST_ATTACHMENT)
    throw new AppError(
      "attachment-too-large",
      `${basename(name)} has ${bytes} bytes; ${LARGEST_ATTACHMENT} are allowed.`,
    );
}

/** Writes a file whole or not at all, under a name that nobody else has or gets. */
async function keepFile(folder: string, name: string, bytes: Uint8Array): Promise<string> {
  await ensurePrivateFolder(folder);
  const temporary = join(folder, `${TEMPORARY}${randomBytes(8).toString("hex")}`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    const path = await linkFree(temporary, folder, name);
    await syncFolder(folder); // the row must not outlive the file
    return path;
  } catch (error) {
    if (errnoOf(error) === undefined || error instanceof AppError) throw error;
    throw new AppError("file-unwritable", `Cannot keep ${name} in ${folder}.`, { cause: error });
  } finally {
    await rm(temporary, { force: true });
  }
}

async function linkFree(temporary: string, folder: string, name: string): Promise<string> {
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

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } catch (error) {
    if (errnoOf(error) !== "EINVAL" && errnoOf(error) !== "ENOTSUP") throw error; // not every file system can
  } finally {
    await handle.close();
  }
}

/** Opens the file of an attachment to read it; a row that leads anywhere but to a file of its own task is not followed. */
export async function openAttachment(place: AttachmentPlace, attachment: Attachment): Promise<FileHandle> {
  const path = await containedPath(place, attachment);
  const file = path === undefined ? undefined : await openFile(path);
  if (file === undefined) throw missing(attachment);
  const facts = await file.stat();
  if (facts.isFile() && facts.size <= LARGEST_ATTACHMENT) return file;
  await file.close();
  throw missing(attachment);
}

export async function readAttachment(place: AttachmentPlace, attachment: Attachment): Promise<Buffer> {
  const file = await openAttachment(place, attachment);
  try {
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Where the reader finds each file, by the id of its attachment; those that it cannot read are left out. */
export async function locateAttachments(
  place: AttachmentPlace,
  attachments: readonly Attachment[],
): Promise<ReadonlyMap<number, string>> {
  const paths = new Map<number, string>();
  for (const attachment of attachments) {
    const path = await containedPath(place, attachment);
    if (path === undefined) continue;
    const { seenAs } = place;
    const folder = seenAs === undefined ? dirname(path) : seenAs(attachment.task_id);
    if (folder !== undefined) paths.set(attachment.id, posix.join(folder, basename(path)));
  }
  return paths;
}

/** All files that a context names. */
export function attachmentsIn({ attachments, parents }: WorkerContext): readonly Attachment[] {
  return [...attachments, ...parents.flatMap((parent) => parent.attachments)];
}

/** Forgets an attachment and moves its file aside; false when there was none. */
export async function removeAttachment(
  { client, place }: { readonly client: BoardClient; readonly place: AttachmentPlace },
  id: number,
  signal: AbortSignal,
): Promise<boolean> {
  const row = await client.removeAttachment(id, signal);
  if (row === undefined) return false;
  const path = await containedPath(place, row);
  if (path !== undefined) await moveAside(path, row.task_id, place);
  return true;
}

/** Where the file is, if it is where files of this task belong, both as the row says and on the disk. */
async function containedPath(
  place: AttachmentPlace,
  { task_id, stored_path }: Attachment,
): Promise<string | undefined> {
  const name = basename(stored_path);
  const folder = join(place.attachments, folderNameOf(task_id));
  if (stored_path !== join(folder, name) || name.startsWith(".")) return undefined;
  try {
    const root = await realpath(place.attachments);
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

function missing({ filename, task_id }: Attachment): AppError {
  return new AppError("attachment-missing", `The file of ${filename} of ${task_id} is not there.`);
}
