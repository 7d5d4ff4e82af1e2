import { systemClock } from "../clock.ts";
import { closeGenerations, type LogGeneration, openGenerations, readBytes } from "./log-generation.ts";
import type { LogName } from "./log-path.ts";
import { type LogQuery, matchesQuery } from "./log-query.ts";
import { type LogLine, parseLogLine } from "./log-record.ts";
import { readTail } from "./read-log.ts";

const POLL_MS = 250;
const BLOCK = 65_536;
const FAREWELL_POLLS = 4; // a process may still finish a line in a file that was rotated under its hands

/** A file of the log that is being read, and how far. */
interface Reader extends LogGeneration {
  position: number;
  /** What was read of a line that has no end yet. */
  rest: Buffer[];
  pollsLeft: number;
}

/** The last matching lines of a log, then each new one as it comes, through all rotations; `signal` is the way to end it. */
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
      for (const old of retire(readers)) {
        await old.file.close();
        yield* parseLogLine(Buffer.concat(old.rest).toString("utf8")).filter((line) =>
          matchesQuery(line, query),
        );
      }
      // It fails for one reason only, and that one ends the loop.
      await systemClock.sleep(POLL_MS, signal).catch(() => undefined);
    }
  } finally {
    await closeGenerations(readers);
  }
}

function createReader(generation: LogGeneration, position: number): Reader {
  return { ...generation, position, rest: [], pollsLeft: FAREWELL_POLLS };
}

/** Takes out of `readers` those whose file has long been followed by another. */
function retire(readers: Reader[]): Reader[] {
  for (const old of readers.slice(0, -1)) old.pollsLeft -= 1;
  const first = readers.findIndex(({ pollsLeft }) => pollsLeft > 0);
  return readers.splice(0, first);
}

async function* readNewLines(reader: Reader): AsyncGenerator<LogLine> {
  const { size } = await reader.file.stat();
  if (size < reader.position) Object.assign(reader, { position: 0, rest: [] }); // somebody emptied it
  for (;;) {
    const block = await readBytes(reader.file, reader.position, BLOCK);
    if (block.length === 0) return;
    reader.position += block.length;
    const end = block.lastIndexOf(0x0a) + 1;
    if (end > 0) {
      const complete = Buffer.concat([...reader.rest, block.subarray(0, end)]).toString("utf8");
      reader.rest = [];
      for (const line of complete.split("\n")) yield* parseLogLine(line);
    }
    reader.rest.push(block.subarray(end));
  }
}

/** Opens the files that came after that of `reader`, oldest first. */
async function openNewer(folder: string, log: LogName, reader: Reader | undefined): Promise<LogGeneration[]> {
  const generations = await openGenerations(folder, log);
  const own = generations.findIndex(({ identity }) => identity === reader?.identity);
  const later = own < 0 ? generations : generations.slice(0, own);
  // Once its own file is gone from the folder, only the times tell which came after it.
  const since = own < 0 && reader !== undefined ? (await reader.file.stat()).mtimeMs : 0;
  const newer = later.filter(({ modifiedMs }) => modifiedMs >= since);
  await closeGenerations(generations.filter((generation) => !newer.includes(generation)));
  return newer.reverse();
}
