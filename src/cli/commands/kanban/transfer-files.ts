import { readFileSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type AttachmentSource,
  attachmentParts,
  isDamage,
} from "../../../board/attachments/attachment-content.ts";
import { ContentCheck } from "../../../board/attachments/attachment-files.ts";
import { attachmentName } from "../../../board/attachments/attachment-name.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../../../board/task.ts";
import { folderNameOf } from "../../../board/workspaces/workspace.ts";
import { AppError, errnoOf, messageOf } from "../../../lib/errors.ts";
import { ensurePrivateFolder } from "../../../lib/files.ts";

const PART_BYTES = 192 * 1024; // of a file in one line, so that neither side holds more of it
const BEGINNING = '{"file":';

/** The files of a board's attachments, in parts; a missing or damaged one ends with a mark that says so, and is told of. */
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
      yield JSON.stringify({ file: attachment.id, content: "" }); // an empty file is a file, too
    } catch (error) {
      if (!isDamage(error)) throw error;
      onDamage(error);
      yield JSON.stringify({ file: attachment.id, damaged: error.message });
    }
  }
}

/** Whether a line of an export is part of a file, and no row. */
export function isFileLine(line: string): boolean {
  return line.startsWith(BEGINNING);
}

/** The same rows with the paths that their files have below `folder`. */
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

/** Puts the files of an import where its attachments will look for them; without `keep` they are gone again at the end. */
export class ImportedFiles implements AsyncDisposable {
  readonly #attachments = new Map<number, Attachment>();
  readonly #folder: string;
  readonly #paths: string[] = [];
  #isKept = false;
  readonly #damaged: string[] = [];
  #open:
    | { readonly attachment: Attachment; readonly file: FileHandle; readonly check: ContentCheck }
    | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Takes note of a row, which may be an attachment whose file comes later. */
  expect(line: string): void {
    const row = attachmentIn(line);
    if (row !== undefined) this.#attachments.set(row.id, row);
  }

  /** The content that has come of an attachment. */
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
    if (damaged !== undefined) return this.#giveUp(damaged);
    const bytes = Buffer.from(content, "base64");
    inImport(() => this.#open?.check.add(bytes));
    await this.#open.file.writeFile(bytes);
  }

  /** All parts are there, or throws; says what was missing or damaged already where it came from. */
  async finish(): Promise<readonly string[]> {
    await this.#close();
    return this.#damaged;
  }

  keep(): void {
    this.#isKept = true;
  }

  async #begin(id: number) {
    const attachment = this.#attachments.get(id);
    if (attachment === undefined) throw invalid(`There is a file of an attachment ${id} that it has not.`);
    const path = pathOf(attachment, this.#folder);
    await ensurePrivateFolder(join(this.#folder, folderNameOf(attachment.task_id)));
    try {
      const file = await open(path, "wx", 0o600);
      this.#paths.push(path);
      return { attachment, file, check: new ContentCheck(attachment) };
    } catch (error) {
      const why = errnoOf(error) === "EEXIST" ? "it is there already" : messageOf(error);
      throw new AppError("file-unwritable", `${path}: ${why}.`, { cause: error });
    }
  }

  async #close(): Promise<void> {
    if (this.#open === undefined) return;
    const { file, check } = this.#open;
    this.#open = undefined;
    try {
      await file.sync(); // the row must not outlive the file
    } finally {
      await file.close();
    }
    inImport(() => check.finish());
  }

  /** What came of the file until its damage showed is of no use to anybody. */
  async #giveUp(damaged: string): Promise<void> {
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

/** The attachment in a line, if it is one; whether other lines are right, the store finds out. */
function attachmentIn(line: string): Attachment | undefined {
  if (!line.includes('"attachment"')) return undefined;
  const { table, row } = parse(line) as { table?: unknown; row?: Attachment };
  if (table !== "attachment" || typeof row !== "object" || row === null) return undefined;
  const { task_id, stored_path, size } = row;
  const isRight =
    typeof task_id === "string" &&
    typeof stored_path === "string" &&
    Number.isSafeInteger(size) &&
    size <= LARGEST_ATTACHMENT;
  if (!isRight) throw invalid("An attachment in it lacks its task, its path or its size.");
  return row;
}

/** Of the path that a row had where it came from, only the name of the file counts. */
function pathOf({ task_id, stored_path }: Attachment, folder: string): string {
  const name = basename(stored_path);
  try {
    if (attachmentName(name) === name) return join(folder, folderNameOf(task_id), name);
  } catch (error) {
    throw invalid(messageOf(error), error);
  }
  throw invalid(`${JSON.stringify(name)} is no name for a file.`);
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
  throw invalid("A part of a file in it lacks its number or its content.");
}

function parse(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : {};
  } catch (error) {
    throw invalid(messageOf(error), error);
  }
}

/** In an import a file that is damaged without a mark was damaged on its way. */
function inImport(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw invalid(messageOf(error), error);
  }
}

function invalid(message: string, cause?: unknown): AppError {
  return new AppError("board-import-invalid", message, { cause });
}
