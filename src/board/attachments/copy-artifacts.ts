import { constants, type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { basename, isAbsolute, relative, resolve } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import type { BoardClient } from "../board-client.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../task.ts";
import type { DeclaredArtifact } from "../workspaces/declared-files.ts";
import { isInside } from "../workspaces/workspace.ts";
import { type AttachmentSource, readAttachment } from "./attachment-content.ts";
import { attachFile } from "./attachment-files.ts";
import { attachmentName, isNumbered } from "./attachment-name.ts";

const MAX_ARTIFACTS = 50;

/** The workspace of a task: its path on this host, and its path as the worker sees it. */
export interface WorkspacePaths {
  readonly path: string;
  /** The path inside the worker's environment, if it differs. */
  readonly pathForWorker?: string | undefined;
}

export interface ArtifactParts extends AttachmentSource {
  readonly client: BoardClient;
  readonly workspace: WorkspacePaths;
}

/** Copies artifacts to the attachments of their task without duplicates; throws `artifact-refused` before copying any. */
export async function copyArtifacts(
  parts: ArtifactParts,
  taskId: string,
  declared: readonly string[],
  signal: AbortSignal,
): Promise<readonly DeclaredArtifact[]> {
  const { workspace, store } = parts;
  if (declared.length > MAX_ARTIFACTS)
    throw artifactError(`${declared.length} artifacts are too many; the limit is ${MAX_ARTIFACTS}.`);
  const root = await rootOf(workspace);
  const paths = [...new Set(declared.map((path) => resolveArtifact(path, workspace)))];
  for (const path of paths) await (await openArtifact(root, path)).close(); // check all files before copying any
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

/** Reads one file of a workspace; throws `artifact-refused` like `copyArtifacts`. */
export async function readWorkspaceFile(
  workspace: WorkspacePaths,
  path: string,
): Promise<{ readonly name: string; readonly bytes: Buffer }> {
  return readArtifact(await rootOf(workspace), resolveArtifact(path, workspace));
}

async function rootOf({ path }: WorkspacePaths): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    throw artifactError(`The workspace ${path} no longer exists.`, error);
  }
}

function resolveArtifact(declared: string, { path, pathForWorker }: WorkspacePaths): string {
  if (declared.includes("\0")) throw artifactError("A path contains a null byte.");
  if (pathForWorker !== undefined && isInside(pathForWorker, declared))
    return resolve(path, relative(pathForWorker, declared));
  return isAbsolute(declared) ? resolve(declared) : resolve(path, declared);
}

async function readArtifact(root: string, path: string) {
  const file = await openArtifact(root, path);
  try {
    const bytes = await file.readFile();
    if (bytes.length > LARGEST_ATTACHMENT) throw tooLarge(path, bytes.length); // the file grew after the size check
    return { name: basename(path), bytes, real: await realpath(path) };
  } finally {
    await file.close();
  }
}

/** Opens a file whose real path is in the workspace; verifies that the opened file is the checked file. */
async function openArtifact(root: string, path: string): Promise<FileHandle> {
  const file = await tryOpen(path);
  try {
    const real = await realpath(path);
    const [opened, checked] = [await file.stat(), await lstat(real)];
    if (!isInside(root, real)) throw artifactError(`The artifact ${path} is not in the workspace ${root}.`);
    if (!opened.isFile() || opened.ino !== checked.ino || opened.dev !== checked.dev)
      throw artifactError(`The artifact ${path} is not a file.`);
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
    throw artifactError(
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
  const candidates = known.filter(
    ({ size, filename }) => size === bytes.length && isNumbered(filename, wanted),
  );
  for (const attachment of candidates) {
    const content = await readAttachment(source, attachment, signal).catch((error: unknown) => {
      if (error instanceof AppError) return undefined; // an unreadable attachment does not match, so the artifact is copied again
      throw error;
    });
    if (content?.equals(bytes) === true) return attachment;
  }
  return undefined;
}

function tooLarge(path: string, bytes: number): AppError {
  return artifactError(`The artifact ${path} has ${bytes} bytes; the limit is ${LARGEST_ATTACHMENT}.`);
}

function artifactError(message: string, cause?: unknown): AppError {
  return new AppError("artifact-refused", message, { cause });
}
