import { ENVELOPE_BEGIN, parseEnvelope } from "./parse-envelope.ts";
import { parseUnified } from "./parse-unified.ts";
import type { Patch } from "./patch.ts";
import { PatchReader, PatchSyntaxError } from "./patch-reader.ts";

export type ParseOutcome =
  | { readonly kind: "parsed"; readonly patch: Patch }
  | { readonly kind: "malformed"; readonly line: number; readonly expected: string; readonly found: string };

/** Parses a `*** Begin Patch` envelope or a unified diff; a malformed patch is reported with its line. */
export function parsePatch(text: string, { allowAbsolute = false } = {}): ParseOutcome {
  const lines = text.replace(/\n$/, "").split("\n");
  // Headers that end in CR mean that the patch itself was converted to CRLF, not that its files use CRLF.
  const header = lines.find((line) => line.startsWith("--- ") || line.startsWith(ENVELOPE_BEGIN));
  const own = header?.endsWith("\r") ? lines.map((line) => line.replace(/\r$/, "")) : lines;
  const reader = new PatchReader(own, allowAbsolute);
  reader.skipBlank();
  try {
    const changes = reader.peek()?.startsWith("***") ? parseEnvelope(reader) : parseUnified(reader);
    return { kind: "parsed", patch: { changes } };
  } catch (error) {
    if (!(error instanceof PatchSyntaxError)) throw error;
    return { kind: "malformed", line: error.line, expected: error.expected, found: error.found };
  }
}
