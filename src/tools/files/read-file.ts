import { z } from "zod";
import type { EnvironmentFiles } from "../../environments/files/environment-files.ts";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { findDocumentKind } from "../../lib/documents/document-text.ts";
import { defineTool, failed, ok } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolParts } from "../tool-parts.ts";
import { describeProblem } from "./describe-problem.ts";
import { maskPrivateKeyLines } from "./private-key-lines.ts";
import { createDocumentPages } from "./read-document-page.ts";
import type { SeenFiles } from "./seen-files.ts";
import { isSourceCode } from "./source-code.ts";

const LARGE_BYTES = 512_000;
const DEFAULT_LINES = 500;
/** Leaves room for 2,000 line numbers within the size limit of a result. */
const PAGE_CHARS = 80_000;

const input = z.strictObject({
  path: z.string().min(1),
  offset: z.int().min(1).default(1).describe("First line"),
  limit: z.int().min(1).max(2_000).default(DEFAULT_LINES).describe("Lines"),
});

export function createReadFile(parts: ToolParts, seenFiles: SeenFiles): Tool {
  const documents = createDocumentPages(parts);
  return defineTool({
    name: "read_file",
    toolset: "file",
    description: "Read a text file; lines are shown as NUMBER|TEXT, the numbers are not part of the file.",
    input,
    mutates: false,
    effectsOf: ({ path }) => ({ reads: [path] }),
    async run({ path, offset, limit }, { signal }) {
      const { files } = await parts.openEnvironment(signal);
      const page = { offsetLine: offset, limitLines: limit, maxChars: PAGE_CHARS };
      const read = await files.read(path, page, signal);
      if (isFileProblem(read)) return failed(await describeProblem(files, read, signal));
      // Check the real path, which is known only after reading.
      const refusal = parts.guards.read(read.path);
      if (refusal !== undefined) return failed(refusal);
      const sample = read.kind === "binary" ? read.sample : Buffer.from(read.lines[0] ?? "");
      const document = findDocumentKind(read.path, sample);
      if (document !== undefined) {
        const text = await documents.read(read.path, document, page, signal);
        if ("text" in text) return ok(text.text);
        if (read.kind === "binary") return failed(text.problem);
      }
      if (read.kind === "binary") {
        return failed(
          `${read.path} is not text (${read.size} bytes, ${typeOf(read.sample)}). Use a command to inspect it.`,
        );
      }
      if (read.digest !== undefined) {
        seenFiles.note(read.path, read.digest);
        if (seenFiles.wasShown(read.path, `${offset}+${limit}`, read.digest))
          return ok(formatUnchanged(read.path));
      }
      return ok(render(parts, await maskPage(files, read, signal), offset));
    },
  });
}

const UNCHANGED = "is unchanged since this page was last read; see the earlier result.]";

function formatUnchanged(path: string): string {
  return `[${path} ${UNCHANGED}`;
}

/** Whether a text is only the note that this tool returns instead of an unchanged page. */
export function isUnchangedNote(text: string): boolean {
  return text.trimStart().startsWith("[") && text.trimEnd().endsWith(UNCHANGED);
}

type Page = Extract<Awaited<ReturnType<EnvironmentFiles["read"]>>, { kind: "text" | "past-end" }>;

/** Masks the lines of a private key that only partly lies on the page. */
async function maskPage(files: EnvironmentFiles, page: Page, signal: AbortSignal): Promise<Page> {
  const { path, lines, firstLine, nextLine } = page;
  if (firstLine === 1 && nextLine === undefined) return page;
  const numbered = lines.map((text, index) => ({ line: firstLine + index, text }));
  const masked = await maskPrivateKeyLines(files, path, numbered, signal);
  return { ...page, lines: masked.map(({ text }) => text) };
}

function render(parts: ToolParts, page: Page, offset: number): string {
  const { path, size, lines, firstLine, nextLine, totalLines, encoding, lossy, cutLines } = page;
  if (page.kind === "past-end")
    return `[${path} has ${totalLines ?? "fewer"} lines; line ${offset} is past its end.]`;
  if (lines.length === 0) return `[${path} is empty.]`;
  // Redact before numbering, because a secret may span several lines.
  const shown = parts.redact(lines.join("\n"), { code: isSourceCode(path) }).split("\n");
  const text = shown.map((line, index) => `${firstLine + index}|${line}`).join("\n");
  const notes = [
    nextLine === undefined
      ? undefined
      : `lines ${firstLine}-${nextLine - 1} of ${totalLines ?? "many"}; continue with offset ${nextLine}`,
    cutLines.length > 0 ? `lines ${cutLines.join(", ")} are truncated` : undefined,
    encoding === "utf-8" ? undefined : `shown from ${encoding}`,
    lossy ? "some bytes are not text and are shown as \ufffd" : undefined,
    size > LARGE_BYTES ? "a large file: search it, or read only the lines that you need" : undefined,
    shown.length < lines.length
      ? "a secret of several lines is omitted, so the line numbers after it are too low"
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
  ["d0cf11e0", "old or encrypted Office document"],
  ["1f8b", "gzip"],
  ["7f454c46", "ELF program"],
  ["53514c69746520", "SQLite database"],
];

function typeOf(sample: Uint8Array): string {
  const hex = Buffer.from(sample).toString("hex");
  return MAGIC.find(([start]) => hex.startsWith(start))?.[1] ?? "unknown type";
}
