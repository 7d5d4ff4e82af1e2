import type { TargetPath } from "../../environments/environment.ts";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { createTextPage, splitLines } from "../../environments/files/text-page.ts";
import type { DocumentKind, DocumentText } from "../../lib/documents/document-text.ts";
import type { ToolParts } from "../tool-parts.ts";
import { describeProblem } from "./describe-problem.ts";

const LINE_CHARS = 2_000;

/** The part of a document's text that a call asks for. */
interface WantedPage {
  readonly offsetLine: number;
  readonly limitLines: number;
  readonly maxChars: number;
}

/** Reads documents as text, page by page. Keeps the text of the last document, because the next page follows soon. */
export function createDocumentPages({
  openEnvironment,
  redact,
}: Pick<ToolParts, "openEnvironment" | "redact">) {
  let last: { readonly digest: string; readonly document: DocumentText } | undefined;

  async function load(
    path: TargetPath,
    kind: DocumentKind,
    signal: AbortSignal,
  ): Promise<DocumentText | { readonly problem: string }> {
    const { files } = await openEnvironment(signal);
    const { MAX_DOCUMENT_BYTES, readDocument } = await import("../../lib/documents/read-document.ts");
    const file = await files.readBytes(path, MAX_DOCUMENT_BYTES, signal);
    if (isFileProblem(file)) return { problem: await describeProblem(files, file, signal) };
    if (last?.digest === file.digest) return last.document;
    const document = await readDocument(kind, file.bytes, {}, signal);
    if ("problem" in document)
      return {
        problem: `The text of ${path} (${kind}) cannot be read: ${document.problem}. Use a command to inspect it.`,
      };
    last = { digest: file.digest, document };
    return document;
  }

  return {
    async read(
      path: TargetPath,
      kind: DocumentKind,
      { offsetLine, limitLines, maxChars }: WantedPage,
      signal: AbortSignal,
    ): Promise<{ readonly text: string } | { readonly problem: string }> {
      const document = await load(path, kind, signal);
      if ("problem" in document) return document;
      const all = splitLines(redact(document.text, { code: kind === "Jupyter notebook" }));
      const limits = { lines: limitLines, lineChars: LINE_CHARS, chars: maxChars };
      const { lines, cutLines, complete } = createTextPage(all.slice(offsetLine - 1), offsetLine, limits);
      if (lines.length === 0)
        return {
          text:
            all.length === 0
              ? `[${path} contains no text.]`
              : `[The text of ${path} has ${all.length} lines; line ${offsetLine} is past its end.]`,
        };
      const next = offsetLine + lines.length;
      const notes = [
        `text of the ${kind}`,
        ...(complete
          ? []
          : [`lines ${offsetLine}-${next - 1} of ${all.length}; continue with offset ${next}`]),
        ...(cutLines.length > 0 ? [`lines ${cutLines.join(", ")} are truncated`] : []),
        ...document.omitted,
      ];
      const numbered = lines.map((line, index) => `${offsetLine + index}|${line}`).join("\n");
      return { text: `${numbered}\n[${[path, ...notes].join("; ")}]` };
    },
  };
}
