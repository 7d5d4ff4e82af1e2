import { closeGenerations, type LogGeneration, openGenerations, readBytes } from "./log-generation.ts";
import type { LogName } from "./log-path.ts";
import { type LogLine, parseLogLine } from "./log-record.ts";

/** A line and where it ends: a byte offset in one file of the log. */
export interface PlacedLine {
  readonly line: LogLine;
  /** Device and inode of the file. */
  readonly file: string;
  readonly end: number;
}

export interface LogPage<Line> {
  /** Oldest first. */
  readonly lines: readonly Line[];
  /** Where the next older page starts; undefined at the start of the log. */
  readonly older: string | undefined;
  /** The size of each file of the log when it was opened. */
  readonly ends: Readonly<Record<string, number>>;
}

export interface LogPageRequest<Line> {
  readonly file: LogName;
  /** As `older` of a newer page; undefined means the end of the log. */
  readonly before: string | undefined;
  readonly maxLines: number;
  /** The largest sum of `sizeOf`. */
  readonly maxBytes: number;
  /** How much of the log is read at most, however few lines match. */
  readonly scanBytes: number;
  /** Returns what the page contains of a line; undefined omits the line. */
  select(placed: PlacedLine): Line | undefined;
  sizeOf(line: Line): number;
  /** Whether all lines before this one are too old. */
  isTooOld(line: LogLine): boolean;
}

const BLOCK = 65_536;
/** Of a longer line only the beginning is kept. */
const MAX_LINE = 16 * BLOCK;

/** Reads a log backwards, across rotated files, from its end or from an earlier page. */
export async function readLogPage<Line>(
  folder: string,
  request: LogPageRequest<Line>,
): Promise<LogPage<Line>> {
  const generations = await openGenerations(folder, request.file);
  try {
    const ends = Object.fromEntries(generations.map(({ identity, size }) => [identity, size]));
    return { ...(await readBackwards(generations, request)), ends };
  } finally {
    await closeGenerations(generations);
  }
}

async function readBackwards<Line>(
  generations: readonly LogGeneration[],
  { before, maxLines, maxBytes, scanBytes, select, sizeOf, isTooOld }: LogPageRequest<Line>,
): Promise<{ lines: readonly Line[]; older: string | undefined }> {
  const newestFirst: Line[] = [];
  let bytes = 0;
  let scanned = 0;
  const page = (older: string | undefined) => ({ lines: newestFirst.toReversed(), older });
  for (const { generation, from } of startAt(generations, before)) {
    const { identity } = generation;
    for await (const { text, start, end } of linesBackwards(generation, from)) {
      for (const line of parseLogLine(text).reverse()) {
        if (isTooOld(line)) return page(undefined);
        const selected = select({ line, file: identity, end });
        if (selected === undefined) continue;
        bytes += sizeOf(selected);
        if (bytes > maxBytes && newestFirst.length > 0) return page(cursorOf(identity, end));
        newestFirst.push(selected);
      }
      scanned += end - start;
      if (start > 0 && (newestFirst.length >= maxLines || scanned >= scanBytes))
        return page(cursorOf(identity, start));
    }
    const next = generations[generations.indexOf(generation) + 1];
    if (next !== undefined && (newestFirst.length >= maxLines || scanned >= scanBytes))
      return page(cursorOf(next.identity, next.size));
  }
  return page(undefined);
}

const cursorOf = (identity: string, offset: number): string => `${identity}@${offset}`;

/** The files to read, newest first, and up to which offset. None if the file of the cursor was deleted. */
function startAt(generations: readonly LogGeneration[], before: string | undefined) {
  const whole = generations.map((generation) => ({ generation, from: generation.size }));
  if (before === undefined) return whole;
  const [identity, offset] = before.split("@");
  const index = generations.findIndex((generation) => generation.identity === identity);
  if (index < 0) return [];
  return whole
    .slice(index)
    .map((entry, at) => (at === 0 ? { ...entry, from: Math.min(entry.from, Number(offset) || 0) } : entry));
}

/** Yields the lines before an offset from last to first, with the offsets where they start and end. */
async function* linesBackwards({ file }: LogGeneration, from: number) {
  let tail: Buffer[] = []; // blocks of a line whose start has not been read yet, in order
  let tailLength = 0;
  let lineEnd = from;
  for (let blockEnd = from; blockEnd > 0; ) {
    const blockStart = Math.max(0, blockEnd - BLOCK);
    const block = await readBytes(file, blockStart, blockEnd - blockStart);
    let rest = block.length;
    for (let newline = block.lastIndexOf(0x0a); newline >= 0; newline = findBefore(block, newline)) {
      const start = blockStart + newline + 1;
      const text = Buffer.concat([block.subarray(newline + 1, rest), ...tail]).toString("utf8");
      yield { text, start, end: lineEnd };
      tail = [];
      tailLength = 0;
      rest = newline;
      lineEnd = start;
    }
    tail.unshift(block.subarray(0, rest));
    tailLength += rest;
    while (tailLength > MAX_LINE && tail.length > 1) tailLength -= tail.pop()?.length ?? 0;
    blockEnd = blockStart;
  }
  yield { text: Buffer.concat(tail).toString("utf8"), start: 0, end: lineEnd };
}

const findBefore = (block: Buffer, index: number): number =>
  index === 0 ? -1 : block.lastIndexOf(0x0a, index - 1);
