import { readFileSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type AttachmentSource,
  attachmentParts,
  isContentProblem,
} from "../../../../board/attachments/attachment-content.ts";
import { ContentVerifier } from "../../../../board/attachments/attachment-files.ts";
import { attachmentName } from "../../../../board/attachments/attachment-name.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../../../../board/task.ts";
import { folderNameOf } from "../../../../board/workspaces/workspace.ts";
import { AppError, errnoOf, messageOf } from "../../../../lib/errors.ts";
import { ensurePrivateFolder } from "../../../../lib/files/files.ts";

const PART_BYTES = 192 * 1024; // bytes of a file per line, so that neither side holds more in memory
const FILE_PREFIX = '{"file":';

/** Yields the attachments of a board in parts. A missing or damaged file is reported and ends with a `damaged` part. */
export async function* fileLines(
  source: AttachmentSource,
  onDamage: (error: AppError) => void,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for (const attachment of await source.store.attachments(signal)) {
    try {
      for await (const part of attachmentParts(source, attachment, signal))
        for (let at = 0; at < part.length; at += PART_BYTES) {
          const content = Buffer.from(part.subarray(at, at + PART_BYTES)).toString("base64");
          yield JSON.stringify({ file: attachment.id, content });
        }
      yield JSON.stringify({ file: attachment.id, content: "" }); // an empty file needs one part, too
    } catch (error) {
      if (!isContentProblem(error)) throw error;
      onDamage(error);
      yield JSON.stringify({ file: attachment.id, damaged: error.message });
    }
  }
}

/** Whether a line of an export is part of a file rather than a row. */
export function isFileLine(line: string): boolean {
  return line.startsWith(FILE_PREFIX);
}

/** The rows with the paths of their files below `folder`. */
export function withPathsIn(folder: string, rows: Iterable<string>): Iterable<string> {
  return {
    *[Symbol.iterator]() {
      for (const line of rows) {
        const row = attachmentIn(line);
        yield row === undefined
          ? line
          : JSON.stringify({ table: "attachment", row: { ...row, stored_path: pathOf(row, folder) } });
      }
    },
  };
}

/**
 * Writes the files of an import to their final paths. Without `keep`, disposing removes them again. `replace` replaces existing
 * files, whose content may be cut off.
 */
export class ImportedFiles implements AsyncDisposable {
  readonly #attachments = new Map<number, Attachment>();
  readonly #folder: string;
  readonly #replace: boolean;
  readonly #paths: string[] = [];
  #isKept = false;
  readonly #damaged: string[] = [];
  #open:
    | { readonly attachment: Attachment; readonly file: FileHandle; readonly check: ContentVerifier }
    | undefined;

  constructor(folder: string, { replace = false }: { readonly replace?: boolean } = {}) {
    this.#folder = folder;
    this.#replace = replace;
  }

  /** Records a row if it is an attachment, whose file follows later. */
  expect(line: string): void {
    const row = attachmentIn(line);
    if (row !== undefined) this.#attachments.set(row.id, row);
  }

  /** The received content of an attachment. */
  readonly read = (row: Readonly<Record<string, unknown>>): Uint8Array | undefined => {
    const attachment = this.#attachments.get(Number(row["id"]));
    if (attachment === undefined) return undefined;
    try {
      return readFileSync(pathOf(attachment, this.#folder));
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  };

  async add(line: string): Promise<void> {
    const { file: id, content, damaged } = parsePart(line);
    if (this.#open?.attachment.id !== id) {
      await this.#close();
      this.#open = await this.#begin(id);
    }
    if (damaged !== undefined) return this.#discard(damaged);
    const bytes = Buffer.from(content, "base64");
    inImport(() => this.#open?.check.add(bytes));
    await this.#open.file.writeFile(bytes);
  }

  /** Throws if parts are missing. Returns the errors of files that were already damaged when they were exported. */
  async finish(): Promise<readonly string[]> {
    await this.#close();
    return this.#damaged;
  }

  keep(): void {
    this.#isKept = true;
  }

  async #begin(id: number) {
    const attachment = this.#attachments.get(id);
    if (attachment === undefined) throw invalidImport(`A file belongs to an unknown attachment ${id}.`);
    const path = pathOf(attachment, this.#folder);
    await ensurePrivateFolder(join(this.#folder, folderNameOf(attachment.task_id)));
    try {
      if (this.#replace) await rm(path, { force: true });
      const file = await open(path, "wx", 0o600);
      this.#paths.push(path);
      return { attachment, file, check: new ContentVerifier(attachment) };
    } catch (error) {
      const why = errnoOf(error) === "EEXIST" ? "it already exists" : messageOf(error);
      throw new AppError("file-unwritable", `${path}: ${why}.`, { cause: error });
    }
  }

  async #close(): Promise<void> {
    if (this.#open === undefined) return;
    const { file, check } = this.#open;
    this.#open = undefined;
    try {
      await file.sync(); // the file must be on disk before its row is
    } finally {
      await file.close();
    }
    inImport(() => check.finish());
  }

  /** Discards the partial content of a damaged file. */
  async #discard(damaged: string): Promise<void> {
    this.#damaged.push(damaged);
    await this.#open?.file.close();
    this.#open = undefined;
    const path = this.#paths.pop();
    if (path !== undefined) await rm(path, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open?.file.close();
    if (!this.#isKept) for (const path of this.#paths) await rm(path, { force: true });
  }
}

/** The attachment in a line, if any; the store validates all other lines. */
function attachmentIn(line: string): Attachment | undefined {
  if (!line.includes('"attachment"')) return undefined;
  const { table, row } = parse(line) as { table?: unknown; row?: Attachment };
  if (table !== "attachment" || typeof row !== "object" || row === null) return undefined;
  const { task_id, stored_path, size } = row;
  const isValid =
    typeof task_id === "string" &&
    typeof stored_path === "string" &&
    Number.isSafeInteger(size) &&
    size <= LARGEST_ATTACHMENT;
  if (!isValid) throw invalidImport("An attachment in the export lacks its task, path or size.");
  return row;
}

/** The path of an imported file. Only the file name of the original path is used. */
function pathOf({ task_id, stored_path }: Attachment, folder: string): string {
  const name = basename(stored_path);
  try {
    if (attachmentName(name) === name) return join(folder, folderNameOf(task_id), name);
  } catch (error) {
    throw invalidImport(messageOf(error), error);
  }
  throw invalidImport(`${JSON.stringify(name)} is not a valid file name.`);
}

interface FilePart {
  readonly file: number;
  readonly content: string;
  readonly damaged?: string;
}

function parsePart(line: string): FilePart {
  const { file, content, damaged } = parse(line) as { file?: unknown; content?: unknown; damaged?: unknown };
  if (typeof file === "number" && typeof content === "string") return { file, content };
  if (typeof file === "number" && typeof damaged === "string") return { file, content: "", damaged };
  throw invalidImport("A file part in the export lacks its number or content.");
}

function parse(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : {};
  } catch (error) {
    throw invalidImport(messageOf(error), error);
  }
}

/** A file that is damaged without a `damaged` part was damaged in the export itself. */
function inImport(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw invalidImport(messageOf(error), error);
  }
}

function invalidImport(message: string, cause?: unknown): AppError {
  return new AppError("board-import-invalid", message, { cause });
}
