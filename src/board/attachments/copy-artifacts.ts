import { constants, type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { basename, isAbsolute, relative, resolve } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import type { BoardClient } from "../board-store.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../task.ts";
import type { DeclaredArtifact } from "../workspaces/declared-files.ts";
import { isInside } from "../workspaces/workspace.ts";
import { type AttachmentSource, readAttachment } from "./attachment-content.ts";
import { attachFile } from "./attachment-files.ts";
import { attachmentName, isNumbered } from "./attachment-name.ts";

const MOST = 50;

/** The folder of a task as we see it, and as its worker does. */
export interface SeenWorkspace {
  readonly path: string;
  /** Its path inside of the worker's environment, where that is another. */
  readonly seenAs?: string | undefined;
}

export interface ArtifactParts extends AttachmentSource {
  readonly client: BoardClient;
  readonly workspace: SeenWorkspace;
}

/**
 * Copies what a worker hands over to the attachments of its task, all of it or, when one file is missing, too large or
 * outside of the workspace, nothing: then it throws `artifact-refused`. What an earlier try copied is not copied again.
 */
export async function copyArtifacts(
  parts: ArtifactParts,
  taskId: string,
  declared: readonly string[],
  signal: AbortSignal,
): Promise<readonly DeclaredArtifact[]> {
  const { workspace, store } = parts;
  if (declared.length > MOST)
    throw refused(`${declared.length} artifacts are too many; ${MOST} are allowed.`);
  const root = await rootOf(workspace);
  const paths = [...new Set(declared.map((path) => placeOf(path, workspace)))];
  for (const path of paths) await (await openArtifact(root, path)).close(); // before anything is kept
  const known = (await store.show(taskId, signal)).attachments;
  const copied: DeclaredArtifact[] = [];
  for (const path of paths) {
    const file = await readArtifact(root, path);
    const same = await findSame(parts, known, file, signal);
    const { filename } = same ?? (await attachFile(parts, taskId, file, signal));
    copied.push({ path: relative(root, file.real), attachment: filename });
  }
  return copied;
}

/** One file of a workspace, whole; throws `artifact-refused` for what `copyArtifacts` would refuse. */
export async function readWorkspaceFile(
  workspace: SeenWorkspace,
  path: string,
): Promise<{ readonly name: string; readonly bytes: Buffer }> {
  return readArtifact(await rootOf(workspace), placeOf(path, workspace));
}

async function rootOf({ path }: SeenWorkspace): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    throw refused(`The workspace ${path} is gone.`, error);
  }
}

function placeOf(declared: string, { path, seenAs }: SeenWorkspace): string {
  if (declared.includes("\0")) throw refused("A path holds a null byte.");
  if (seenAs !== undefined && isInside(seenAs, declared)) return resolve(path, relative(seenAs, declared));
  return isAbsolute(declared) ? resolve(declared) : resolve(path, declared);
}

async function readArtifact(root: string, path: string) {
  const file = await openArtifact(root, path);
  try {
    const bytes = await file.readFile();
    if (bytes.length > LARGEST_ATTACHMENT) throw tooLarge(path, bytes.length); // it grew since it was opened
    return { name: basename(path), bytes, real: await realpath(path) };
  } finally {
    await file.close();
  }
}

/** Opens a file that truly lies in the workspace; what is opened and what is checked are the same file. */
async function openArtifact(root: string, path: string): Promise<FileHandle> {
  const file = await tryOpen(path);
  try {
    const real = await realpath(path);
    const [opened, checked] = [await file.stat(), await lstat(real)];
    if (!isInside(root, real)) throw refused(`The artifact ${path} is not in the workspace ${root}.`);
    if (!opened.isFile() || opened.ino !== checked.ino || opened.dev !== checked.dev)
      throw refused(`The artifact ${path} is not a file.`);
    if (opened.size > LARGEST_ATTACHMENT) throw tooLarge(path, opened.size);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function tryOpen(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    throw refused(
      `The artifact ${path} cannot be read: ${errnoOf(error) === "ENOENT" ? "there is no such file" : errnoOf(error)}.`,
      error,
    );
  }
}

async function findSame(
  source: AttachmentSource,
  known: readonly Attachment[],
  { name, bytes }: { readonly name: string; readonly bytes: Buffer },
  signal: AbortSignal,
): Promise<Attachment | undefined> {
  const wanted = attachmentName(name);
  const alike = known.filter(({ size, filename }) => size === bytes.length && isNumbered(filename, wanted));
  for (const attachment of alike) {
    const kept = await readAttachment(source, attachment, signal).catch((error: unknown) => {
      if (error instanceof AppError) return undefined; // whatever is wrong with that one, ours is copied anew
      throw error;
    });
    if (kept?.equals(bytes) === true) return attachment;
  }
  return undefined;
}

function tooLarge(path: string, bytes: number): AppError {
  return refused(`The artifact ${path} has ${bytes} bytes; ${LARGEST_ATTACHMENT} are allowed.`);
}

function refused(message: string, cause?: unknown): AppError {
  return new AppError("artifact-refused", message, { cause });
}
