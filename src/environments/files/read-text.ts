import type { TargetPath } from "../environment.ts";
import { createFileProblem, type FileProblem } from "./file-problem.ts";
import { PAGE_SCRIPT } from "./file-scripts.ts";
import { readFileBytes } from "./read-bytes.ts";
import type { RunFileScript } from "./run-file-script.ts";
import { decodeText, detectEncoding, type TextEncoding } from "./text-format.ts";
import { createTextPage, type PageLimits, splitLines, type TextPage } from "./text-page.ts";

const MAX_LINES = 2_000;
const LINE_CHARS = 2_000;
const PAGE_CHARS = 100_000;
/** Larger files get no line count and no digest, because both read the whole file. */
const COUNTED_BYTES = 50 * 1024 * 1024;
/** The most that one page scans, so that an endless line cannot fill the memory of the environment. */
const SCANNED_BYTES = 16 * 1024 * 1024;
/** The largest file in an encoding other than UTF-8, which is read as a whole. */
const WHOLE_BYTES = 10 * 1024 * 1024;
const MAX_UTF8_BYTES = 4;

export interface ReadOptions {
  /** The first line to read, from 1. */
  readonly offsetLine?: number | undefined;
  /** At most 2,000. */
  readonly limitLines?: number | undefined;
  /** At most 100,000. */
  readonly maxChars?: number | undefined;
}

/** A page of a text file. `lines` is empty if the file is empty or `firstLine` lies past its end. */
export interface TextFile extends Pick<TextPage, "lines" | "cutLines"> {
  readonly kind: "text" | "past-end";
  readonly path: TargetPath;
  readonly size: number;
  readonly encoding: TextEncoding;
  readonly bom: boolean;
  /** The page has U+FFFD in place of invalid bytes, so it differs from the file. */
  readonly lossy: boolean;
  readonly firstLine: number;
  /** The first line of the next page; undefined at the end of the file. */
  readonly nextLine: number | undefined;
  /** Undefined if the file is too large to count. */
  readonly totalLines: number | undefined;
  readonly endsWithNewline: boolean;
  /** SHA-256 of the whole file, for `expected` of a write; undefined if the file is too large. */
  readonly digest: string | undefined;
}

export interface BinaryFile {
  readonly kind: "binary";
  readonly path: TargetPath;
  readonly size: number;
  /** The first bytes, to recognise the file type. */
  readonly sample: Uint8Array;
}

export type TextRead = TextFile | BinaryFile;

/** Reads one page in one round trip; the environment cuts it. Encodings other than UTF-8 take a second round trip. */
export async function readText(
  run: RunFileScript,
  path: TargetPath,
  options: ReadOptions,
  signal: AbortSignal,
): Promise<TextRead | FileProblem> {
  const firstLine = Math.max(1, Math.trunc(options.offsetLine ?? 1));
  const limits: PageLimits = {
    lines: Math.min(MAX_LINES, Math.max(1, Math.trunc(options.limitLines ?? MAX_LINES))),
    lineChars: LINE_CHARS,
    chars: Math.min(PAGE_CHARS, Math.max(1, Math.trunc(options.maxChars ?? PAGE_CHARS))),
  };
  const lineBytes = LINE_CHARS * MAX_UTF8_BYTES + 1;
  const pageBytes = limits.chars * MAX_UTF8_BYTES + lineBytes + 1;
  // One extra line shows whether the file continues.
  const numbers = [firstLine, limits.lines + 1, SCANNED_BYTES, lineBytes, pageBytes, COUNTED_BYTES];
  const result = await run({ script: PAGE_SCRIPT, path, args: numbers.map(String) }, signal);
  if (result.kind !== "done") return result;
  const { facts, stdout } = result;
  if (!facts.has("done")) return createFileProblem("incomplete", result.path);
  const size = Number((facts.get("facts") ?? "0").split(" ")[0]);
  const sample = parseHex(facts.get("sample"));
  const found = detectEncoding(sample, size <= sample.length);
  if (found === undefined) return { kind: "binary", path: result.path, size, sample };
  const readAll = () => readWhole(run, result.path, { firstLine, limits, sample }, signal);
  if (found.encoding !== "utf-8") return readAll();

  const wasCapped = stdout.length >= pageBytes;
  const offered = splitLines(stdout.toString("utf8"));
  if (wasCapped && offered.length > 1) offered.pop(); // the last line may be incomplete
  if (firstLine === 1 && found.bom && offered[0] !== undefined) offered[0] = offered[0].slice(1);
  const page = createTextPage(offered, firstLine, limits);
  const lossy = page.lines.some((line) => line.includes("\ufffd"));
  if (lossy && size <= WHOLE_BYTES) {
    const all = await readAll(); // detects Latin-1 whose beginning is plain ASCII
    if (all.kind !== "binary") return all;
  }
  const wasBounded = Number(facts.get("scanned") ?? 0) >= SCANNED_BYTES;
  const lastShown = firstLine + page.lines.length - 1;
  const isLastCut = wasBounded && page.complete && !page.cutLines.includes(lastShown);
  const last = parseHex(facts.get("last"));
  const endsWithNewline = last[0] === 0x0a;
  const newlines = facts.get("newlines");
  const totalLines =
    newlines === undefined ? undefined : Number(newlines) + (endsWithNewline || last.length === 0 ? 0 : 1);
  const hasMore = !page.complete || wasCapped || (wasBounded && (totalLines ?? Infinity) > lastShown);
  return {
    kind: page.lines.length === 0 && firstLine > 1 ? "past-end" : "text",
    path: result.path,
    size,
    ...found,
    lossy,
    firstLine,
    lines: page.lines,
    cutLines: isLastCut ? [...page.cutLines, lastShown] : page.cutLines,
    nextLine: hasMore ? lastShown + 1 : undefined,
    totalLines,
    endsWithNewline,
    digest: facts.get("digest") || undefined,
  };
}

async function readWhole(
  run: RunFileScript,
  path: TargetPath,
  { firstLine, limits, sample }: { firstLine: number; limits: PageLimits; sample: Uint8Array },
  signal: AbortSignal,
): Promise<TextRead | FileProblem> {
  const file = await readFileBytes(run, path, WHOLE_BYTES, signal);
  if (file.kind !== "bytes") return file;
  const size = file.bytes.length;
  const decoded = decodeText(file.bytes);
  if (decoded === undefined) return { kind: "binary", path: file.path, size, sample };
  const all = splitLines(decoded.text);
  const page = createTextPage(all.slice(firstLine - 1), firstLine, limits);
  return {
    kind: page.lines.length === 0 && firstLine > 1 ? "past-end" : "text",
    path: file.path,
    size,
    encoding: decoded.format.encoding,
    bom: decoded.format.bom,
    lossy: false,
    firstLine,
    lines: page.lines,
    cutLines: page.cutLines,
    nextLine: page.complete ? undefined : firstLine + page.lines.length,
    totalLines: all.length,
    endsWithNewline: decoded.text.endsWith("\n"),
    digest: file.digest,
  };
}

function parseHex(text = ""): Uint8Array {
  return Buffer.from(text.replace(/\s+/g, ""), "hex");
}
