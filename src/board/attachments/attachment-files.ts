import { createHash, randomBytes } from "node:crypto";
import { constants, type FileHandle, link, open, realpath, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError, errnoOf, messageOf } from "../../lib/errors.ts";
import { ensurePrivateFolder, syncFolder } from "../../lib/files.ts";
import type { BoardClient } from "../board-store.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../task.ts";
import { moveAside, type Quarantine } from "../workspaces/quarantine.ts";
import { folderNameOf } from "../workspaces/workspace.ts";
import { attachmentName, numberedName } from "./attachment-name.ts";

const TEMPORARY = ".new-";

/** Where the files of attachments lie, and where removed ones go first. */
export interface AttachmentPlace extends Quarantine {
  readonly attachments: string;
  /** How many bytes of content the database may hold for all hosts; undefined where files stay on this one. */
  readonly sharedLimitBytes?: number | undefined;
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
 * Keeps a file with a task, under its own name or the next one that is free. Beside the database the file is there before
 * its row, so a crash leaves at most a file that nobody knows of, which `collectAttachments` finds.
 */
export async function attachFile(
  { client, place }: { readonly client: BoardClient; readonly place: AttachmentPlace },
  taskId: string,
  { name, bytes, contentType }: NewFile,
  signal: AbortSignal,
): Promise<Attachment> {
  requireSize(name, bytes.length);
  signal.throwIfAborted();
  const { sharedLimitBytes: limitBytes } = place;
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
  const path = await keepFile(join(place.attachments, folderNameOf(taskId)), attachmentName(name), [bytes]);
  const row = { ...known, filename: basename(path), storedPath: path };
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

/** Writes a file whole or not at all. `settle` gives it its name, by default one that nobody else has or gets. */
export async function keepFile(
  folder: string,
  name: string,
  parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  settle: (temporary: string, folder: string, name: string) => Promise<string> = linkFree,
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
    await syncFolder(folder); // the row must not outlive the file
    return path;
  } catch (error) {
    if (errnoOf(error) === undefined || error instanceof AppError) throw error;
    const why = errnoOf(error) === "ENOSPC" ? "the disk is full" : messageOf(error);
    throw new AppError("file-unwritable", `Cannot keep ${name} in ${folder}: ${why}.`, { cause: error });
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Takes the place of whatever has the name: two who copy the same content do no harm. */
export async function replace(temporary: string, folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  await rename(temporary, path);
  return path;
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

/** Forgets an attachment and moves its file aside; false when there was none. */
export async function removeAttachment(
  { client, place }: { readonly client: BoardClient; readonly place: AttachmentPlace },
  id: number,
  signal: AbortSignal,
): Promise<boolean> {
  const row = await client.removeAttachment(id, signal);
  if (row === undefined) return false;
  if (row.content_key !== null) await rm(copyFolder(place, row), { recursive: true, force: true });
  const path = await containedPath(place, row);
  if (path !== undefined) await moveAside(path, row.task_id, place);
  return true;
}

/** Where this host keeps its copy of content that is in the database. */
export function copyFolder(place: AttachmentPlace, { task_id, id }: Attachment): string {
  return join(place.attachments, folderNameOf(task_id), String(id));
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

export function missing({ filename, task_id }: Attachment): AppError {
  return new AppError("attachment-missing", `The file of ${filename} of ${task_id} is not there.`);
}

/** Takes the parts of an attachment's content; throws `attachment-damaged` when they are not what was attached. */
export class ContentCheck {
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
    return new AppError("attachment-damaged", `The file of ${filename} of ${task_id} is damaged: ${why}.`);
  }
}
