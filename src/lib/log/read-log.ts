import type { FileHandle } from "node:fs/promises";
import { closeGenerations, type LogGeneration, openGenerations, readBytes } from "./log-generation.ts";
import { type LogQuery, matchesQuery } from "./log-query.ts";
import { type LogLine, parseLogLine } from "./log-record.ts";

const BLOCK = 65_536;
const DISORDER_MS = 60_000; // lines of several processes are nearly, not exactly, in the order of their times

/** The last lines of a log that match, oldest first; reads from the end, across rotated files, and no more than needed. */
export async function readLogTail(folder: string, query: LogQuery): Promise<LogLine[]> {
  const generations = await openGenerations(folder, query.file);
  try {
    return await readTail(generations, query);
  } finally {
    await closeGenerations(generations);
  }
}

/** The same, of files that are open already (newest first), as far as they reached when they were opened. */
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

/** The lines of a file from its end to its beginning. */
async function* linesBackwards(file: FileHandle, size: number): AsyncGenerator<string> {
  let tail: Buffer[] = []; // of a line whose beginning is not read yet, in order
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - BLOCK);
    const block = await readBytes(file, start, end - start);
    let lineEnd = block.length;
    for (let newline = block.lastIndexOf(0x0a); newline >= 0; newline = lastNewline(block, newline)) {
      yield Buffer.concat([block.subarray(newline + 1, lineEnd), ...tail]).toString("utf8");
      tail = [];
      lineEnd = newline;
    }
    tail.unshift(block.subarray(0, lineEnd));
    end = start;
  }
  yield Buffer.concat(tail).toString("utf8");
}

function lastNewline(block: Buffer, before: number): number {
  return before === 0 ? -1 : block.lastIndexOf(0x0a, before - 1);
}
