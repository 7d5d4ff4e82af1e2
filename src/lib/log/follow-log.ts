import { systemClock } from "../time/clock.ts";
import { closeGenerations, type LogGeneration, openGenerations, readBytes } from "./log-generation.ts";
import type { LogName } from "./log-path.ts";
import { type LogLine, parseLogLine } from "./log-record.ts";
import { type LogQuery, matchesQuery, readTail } from "./read-log.ts";

const POLL_MS = 250;
const BLOCK = 65_536;
const POLLS_AFTER_ROTATION = 4; // another process may still be writing a line to the file that was just rotated

interface Reader extends LogGeneration {
  position: number;
  /** The bytes of a line whose newline has not been read yet. */
  partialLine: Buffer[];
  pollsLeft: number;
}

/** Yields the last matching lines of a log, then each new line, across rotations, until `signal` aborts. */
export async function* followLog(
  folder: string,
  query: LogQuery,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const existing = await openGenerations(folder, query.file);
  const readers = existing.slice(0, 1).map((generation) => createReader(generation, generation.size));
  try {
    try {
      yield* await readTail(existing, query);
    } finally {
      await closeGenerations(existing.slice(1));
    }
    while (!signal.aborted) {
      for (const reader of readers) {
        for await (const line of readNewLines(reader)) {
          if (matchesQuery(line, query)) yield line;
        }
      }
      const newer = await openNewer(folder, query.file, readers.at(-1));
      readers.push(...newer.map((generation) => createReader(generation, 0)));
      if (newer.length > 0) continue;
      for (const old of removeFinished(readers)) {
        await old.file.close();
        yield* parseLogLine(Buffer.concat(old.partialLine).toString("utf8")).filter((line) =>
          matchesQuery(line, query),
        );
      }
      // The sleep rejects only when the signal aborts, which ends the loop.
      await systemClock.sleep(POLL_MS, signal).catch(() => undefined);
    }
  } finally {
    await closeGenerations(readers);
  }
}

function createReader(generation: LogGeneration, position: number): Reader {
  return { ...generation, position, partialLine: [], pollsLeft: POLLS_AFTER_ROTATION };
}

/** Removes from `readers` the rotated files that were polled often enough, and returns them. */
function removeFinished(readers: Reader[]): Reader[] {
  for (const old of readers.slice(0, -1)) old.pollsLeft -= 1;
  const first = readers.findIndex(({ pollsLeft }) => pollsLeft > 0);
  return readers.splice(0, first);
}

async function* readNewLines(reader: Reader): AsyncGenerator<LogLine> {
  const { size } = await reader.file.stat();
  if (size < reader.position) Object.assign(reader, { position: 0, partialLine: [] }); // the file was truncated
  for (;;) {
    const block = await readBytes(reader.file, reader.position, BLOCK);
    if (block.length === 0) return;
    reader.position += block.length;
    const end = block.lastIndexOf(0x0a) + 1;
    if (end > 0) {
      const complete = Buffer.concat([...reader.partialLine, block.subarray(0, end)]).toString("utf8");
      reader.partialLine = [];
      for (const line of complete.split("\n")) yield* parseLogLine(line);
    }
    reader.partialLine.push(block.subarray(end));
  }
}

/** Opens the files that are newer than the file of `reader`, oldest first. */
async function openNewer(folder: string, log: LogName, reader: Reader | undefined): Promise<LogGeneration[]> {
  const generations = await openGenerations(folder, log);
  const ownIndex = generations.findIndex(({ identity }) => identity === reader?.identity);
  const later = ownIndex < 0 ? generations : generations.slice(0, ownIndex);
  // Once the reader's own file was removed from the folder, only modification times show which files are newer.
  const since = ownIndex < 0 && reader !== undefined ? (await reader.file.stat()).mtimeMs : 0;
  const newer = later.filter(({ modifiedMs }) => modifiedMs >= since);
  await closeGenerations(generations.filter((generation) => !newer.includes(generation)));
  return newer.reverse();
}
