import { z } from "zod";
import type { EnvironmentFiles } from "../../environments/files/environment-files.ts";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { defineTool, failed, ok } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { credentialRefusal, holdsCredentials } from "./credential-files.ts";
import { describeProblem } from "./describe-problem.ts";
import type { FileMemory } from "./file-memory.ts";
import { holdsSettings } from "./settings-file.ts";

const LARGE_BYTES = 512_000;
const DEFAULT_LINES = 500;
/** With the numbers of 2,000 lines still less than a result may have. */
const PAGE_CHARS = 80_000;

const input = z.strictObject({
  path: z.string().min(1),
  offset: z.int().min(1).default(1).describe("First line"),
  limit: z.int().min(1).max(2_000).default(DEFAULT_LINES).describe("Lines"),
});

/** Shows a page of a text with its line numbers. */
export function createReadFile(parts: ToolParts, memory: FileMemory): Tool {
  return defineTool({
    name: "read_file",
    toolset: "file",
    description: "Read a text file; lines come as NUMBER|TEXT, the numbers are not part of the file.",
    input,
    mutates: false,
    async run({ path, offset, limit }, { signal }) {
      const { files } = await parts.workspace(signal);
      const page = { offsetLine: offset, limitLines: limit, maxChars: PAGE_CHARS };
      const read = await files.read(path, page, signal);
      if (isFileProblem(read)) return failed(await describeProblem(files, read, signal));
      // Judged by where it really lies, which nobody knows before.
      if (holdsCredentials(read.path, parts.home)) return failed(credentialRefusal(read.path));
      if (read.kind === "binary") {
        return failed(
          `${read.path} is no text (${read.size} bytes, ${typeOf(read.sample)}). Use a command to look at it.`,
        );
      }
      if (read.digest !== undefined) {
        memory.note(read.path, read.digest);
        if (memory.wasShown(read.path, `${offset}+${limit}`, read.digest))
          return ok(unchangedWords(read.path));
      }
      return ok(render(parts, read, offset));
    },
  });
}

const UNCHANGED = "is unchanged since this page was last read; see the earlier result.]";

function unchangedWords(path: string): string {
  return `[${path} ${UNCHANGED}`;
}

/** Whether a text is nothing but the note that this tool gives in place of a page. */
export function isUnchangedNote(text: string): boolean {
  return text.trimStart().startsWith("[") && text.trimEnd().endsWith(UNCHANGED);
}

type Page = Extract<Awaited<ReturnType<EnvironmentFiles["read"]>>, { kind: "text" | "past-end" }>;

function render(parts: ToolParts, page: Page, offset: number): string {
  const { path, size, lines, firstLine, nextLine, totalLines, encoding, lossy, cutLines } = page;
  if (page.kind === "past-end")
    return `[${path} has ${totalLines ?? "fewer"} lines; line ${offset} is past its end.]`;
  if (lines.length === 0) return `[${path} is empty.]`;
  // Before the lines get numbers: a secret may stand on several.
  const shown = parts.redact(lines.join("\n"), { code: !holdsSettings(path) }).split("\n");
  const text = shown.map((line, index) => `${firstLine + index}|${line}`).join("\n");
  const notes = [
    nextLine === undefined
      ? undefined
      : `lines ${firstLine}-${nextLine - 1} of ${totalLines ?? "many"}; go on with offset ${nextLine}`,
    cutLines.length > 0 ? `lines ${cutLines.join(", ")} are cut` : undefined,
    encoding === "utf-8" ? undefined : `shown from ${encoding}`,
    lossy ? "some bytes are no text and shown as \ufffd" : undefined,
    size > LARGE_BYTES ? "a large file: search it, or read only what you need" : undefined,
    shown.length < lines.length
      ? "a secret of several lines is left out, so the numbers after it are too small"
      : undefined,
  ].filter((note) => note !== undefined);
  return `${text}\n[${[path, ...notes].join("; ")}]`;
}

const MAGIC: readonly (readonly [hex: string, type: string])[] = [
  ["89504e47", "PNG image"],
  ["ffd8ff", "JPEG image"],
  ["47494638", "GIF image"],
  ["25504446", "PDF"],
  ["504b0304", "ZIP archive or office document"],
  ["1f8b", "gzip"],
  ["7f454c46", "ELF program"],
  ["53514c69746520", "SQLite database"],
];

function typeOf(sample: Uint8Array): string {
  const hex = Buffer.from(sample).toString("hex");
  return MAGIC.find(([start]) => hex.startsWith(start))?.[1] ?? "unknown type";
}
