import { systemClock } from "../time/clock.ts";
import { closeGenerations, type LogGeneration, openGenerations, readBytes } from "./log-generation.ts";
import type { LogName } from "./log-path.ts";
import { type LogLine, parseLogLine } from "./log-record.ts";
import { type LogQuery, matchesQuery, readTail } from "./read-log.ts";
import type { PlacedLine } from "./read-log-page.ts";

const POLL_MS = 250;
const BLOCK = 65_536;
const POLLS_AFTER_ROTATION = 4; // another process may still be writing a line to the file that was just rotated

interface Reader extends LogGeneration {
  position: number;
  /** The bytes of a line whose newline has not been read yet. */
  partialLine: Buffer[];
  pollsLeft: number;
}

/** Yields each new line of a log and where it ends, across rotations, until `signal` aborts. */
export async function* followNewLines(
  folder: string,
  file: LogName,
  signal: AbortSignal,
  onOpen: () => void,
): AsyncGenerator<PlacedLine> {
  const existing = await openGenerations(folder, file);
  const readers = existing.slice(0, 1).map((generation) => createReader(generation, generation.size));
  try {
    await closeGenerations(existing.slice(1));
    onOpen();
    yield* followReaders(folder, file, readers, signal);
  } finally {
    await closeGenerations(readers);
  }
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
    for await (const { line } of followReaders(folder, query.file, readers, signal))
      if (matchesQuery(line, query)) yield line;
  } finally {
    await closeGenerations(readers);
  }
}

async function* followReaders(
  folder: string,
  log: LogName,
  readers: Reader[],
  signal: AbortSignal,
): AsyncGenerator<PlacedLine> {
  while (!signal.aborted) {
    for (const reader of readers) yield* readNewLines(reader);
    const newer = await openNewer(folder, log, readers.at(-1));
    readers.push(...newer.map((generation) => createReader(generation, 0)));
    if (newer.length > 0) continue;
    for (const old of removeFinished(readers)) {
      await old.file.close();
      for (const line of parseLogLine(Buffer.concat(old.partialLine).toString("utf8")))
        yield { line, file: old.identity, end: old.position };
    }
    // The sleep rejects only when the signal aborts, which ends the loop.
    await systemClock.sleep(POLL_MS, signal).catch(() => undefined);
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

async function* readNewLines(reader: Reader): AsyncGenerator<PlacedLine> {
  const { size } = await reader.file.stat();
  if (size < reader.position) Object.assign(reader, { position: 0, partialLine: [] }); // the file was truncated
  for (;;) {
    const block = await readBytes(reader.file, reader.position, BLOCK);
    if (block.length === 0) return;
    const start = reader.position;
    reader.position += block.length;
    let lineStart = 0;
    for (let newline = block.indexOf(0x0a); newline >= 0; newline = block.indexOf(0x0a, lineStart)) {
      const text = Buffer.concat([...reader.partialLine, block.subarray(lineStart, newline)]).toString(
        "utf8",
      );
      reader.partialLine = [];
      lineStart = newline + 1;
      for (const line of parseLogLine(text)) yield { line, file: reader.identity, end: start + lineStart };
    }
    reader.partialLine.push(block.subarray(lineStart));
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
