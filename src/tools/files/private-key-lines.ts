import type { TargetPath } from "../../environments/environment.ts";
import type { EnvironmentFiles } from "../../environments/files/environment-files.ts";
import { decodeText } from "../../environments/files/text-format.ts";
import { findPrivateKeys } from "../../lib/redact/private-keys.ts";
import { redactionMark } from "../../lib/redact/redaction-mark.ts";

/** In a larger file every line that could belong to a key is masked. */
const MAX_BYTES = 10 * 1024 * 1024;
const MAY_BE_KEY = /[A-Za-z0-9+/]{24}|^\s*[A-Za-z0-9+/=]{2,}\s*$/;
const LOOKS_LIKE_KEY = /^\s*["']?[A-Za-z0-9+/]{40,}={0,2}["'\\n,;+]*\s*$/;

export interface NumberedLine {
  readonly line: number;
  readonly text: string;
}

/**
 * Masks the lines of a file that belong to a private key. Checks the whole file, because a single line from the middle of a key
 * does not look like one.
 */
export async function maskPrivateKeyLines<Line extends NumberedLine>(
  files: EnvironmentFiles,
  path: TargetPath,
  lines: readonly Line[],
  signal: AbortSignal,
): Promise<readonly Line[]> {
  if (!lines.some(({ text }) => MAY_BE_KEY.test(text))) return lines;
  const isInKey = await findKeyLines(files, path, signal);
  return lines.map((line) => (isInKey(line) ? { ...line, text: redactionMark("private-key") } : line));
}

async function findKeyLines(
  files: EnvironmentFiles,
  path: TargetPath,
  signal: AbortSignal,
): Promise<(line: NumberedLine) => boolean> {
  const file = await files.readBytes(path, MAX_BYTES, signal);
  if (file.kind !== "bytes") return ({ text }) => LOOKS_LIKE_KEY.test(text);
  const text = decodeText(file.bytes)?.text ?? Buffer.from(file.bytes).toString("utf8");
  const inKey = new Set<number>();
  let line = 1;
  let at = 0;
  for (const { start, end } of findPrivateKeys(text)) {
    line += countLines(text.slice(at, start));
    const last = line + countLines(text.slice(start, end));
    // A key on a single line is redacted later, which keeps the text around it.
    if (last > line) for (let number = line; number <= last; number++) inKey.add(number);
    line = last;
    at = end;
  }
  return (candidate) => inKey.has(candidate.line);
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}
