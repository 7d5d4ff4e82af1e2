import type { FileHandle } from "node:fs/promises";
import { closeGenerations, type LogGeneration, openGenerations, readBytes } from "./log-generation.ts";
import { isAtLeast, type LogLevel } from "./log-level.ts";
import type { LogName } from "./log-path.ts";
import { type LogLine, parseLogLine } from "./log-record.ts";

const BLOCK = 65_536;
const DISORDER_MS = 60_000; // lines of several processes are only roughly in the order of their timestamps

/** Returns the last matching lines of a log, oldest first. Reads backwards across rotated files and stops early. */
export async function readLogTail(folder: string, query: LogQuery): Promise<LogLine[]> {
  const generations = await openGenerations(folder, query.file);
  try {
    return await readTail(generations, query);
  } finally {
    await closeGenerations(generations);
  }
}

/** Like `readLogTail`, for files that are already open, newest first. Reads up to the size at opening. */
export async function readTail(generations: readonly LogGeneration[], query: LogQuery): Promise<LogLine[]> {
  const newestFirst: LogLine[] = [];
  const isOld = (line: LogLine) =>
    query.since !== undefined &&
    line.kind === "record" &&
    Date.parse(line.record.time) < query.since.getTime() - DISORDER_MS;
  for (const { file, size } of generations) {
    for await (const text of linesBackwards(file, size)) {
      const lines = parseLogLine(text).reverse();
      newestFirst.push(...lines.filter((line) => matchesQuery(line, query)));
      if (newestFirst.length >= query.lines || lines.some(isOld)) {
        return newestFirst.slice(0, query.lines).reverse();
      }
    }
  }
  return newestFirst.reverse();
}

/** Yields the lines of a file from last to first. */
async function* linesBackwards(file: FileHandle, size: number): AsyncGenerator<string> {
  let tail: Buffer[] = []; // blocks of a line whose start has not been read yet, in order
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - BLOCK);
    const block = await readBytes(file, start, end - start);
    let lineEnd = block.length;
    for (let newline = block.lastIndexOf(0x0a); newline >= 0; newline = previousNewline(block, newline)) {
      yield Buffer.concat([block.subarray(newline + 1, lineEnd), ...tail]).toString("utf8");
      tail = [];
      lineEnd = newline;
    }
    tail.unshift(block.subarray(0, lineEnd));
    end = start;
  }
  yield Buffer.concat(tail).toString("utf8");
}

function previousNewline(block: Buffer, before: number): number {
  return before === 0 ? -1 : block.lastIndexOf(0x0a, before - 1);
}

/** Selects lines of a log; a line must meet all conditions. */
export interface LogQuery {
  readonly file: LogName;
  /** Maximum number of matching lines, counted from the end of the log. */
  readonly lines: number;
  readonly level?: LogLevel | undefined;
  readonly session?: string | undefined;
  readonly component?: string | undefined;
  readonly since?: Date | undefined;
}

/** Whether a line meets the query. A raw line has no fields, so it matches only a query without conditions. */
export function matchesQuery(line: LogLine, { level, session, component, since }: LogQuery): boolean {
  if (line.kind === "raw")
    return [level, session, component, since].every((condition) => condition === undefined);
  const { record } = line;
  return (
    (level === undefined || isAtLeast(record.level, level)) &&
    (session === undefined || record.session === session) &&
    (component === undefined || record.component === component) &&
    (since === undefined || Date.parse(record.time) >= since.getTime())
  );
}
