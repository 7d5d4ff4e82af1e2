import { type FileHandle, open, readdir } from "node:fs/promises";
import { AppError, messageOf } from "../errors.ts";
import { unlessMissing } from "../files/unless-missing.ts";
import { type LogName, logPath } from "./log-path.ts";

/** One open file of a log. It stays open, so that it can be read to its end even if a rotation renames it. */
export interface LogGeneration {
  readonly file: FileHandle;
  /** Device and inode: does not change when the file is renamed. */
  readonly identity: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** Opens every file of a log, newest first. */
export async function openGenerations(folder: string, log: LogName): Promise<LogGeneration[]> {
  const generations: LogGeneration[] = [];
  try {
    const oldest = await findOldest(folder, log);
    // One extra number, because a concurrent rotation renames each file to the next one. A killed rotation leaves a gap.
    for (let number = 0; number <= oldest + 1; number++) {
      const generation = await openGeneration(logPath(folder, log, number));
      if (generation === undefined) continue;
      const isDuplicate = generations.some(({ identity }) => identity === generation.identity);
      if (isDuplicate) await generation.file.close();
      else generations.push(generation);
    }
  } catch (error) {
    await closeGenerations(generations);
    throw error;
  }
  return generations;
}

export async function closeGenerations(generations: Iterable<LogGeneration>): Promise<void> {
  for (const { file } of generations) await file.close();
}

/** Reads up to `length` bytes starting at `position`; fewer at the end of the file. */
export async function readBytes(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

async function findOldest(folder: string, log: LogName): Promise<number> {
  const prefix = `${log}.log.`;
  const names = await readable(readdir(folder), folder);
  const numbers = (names ?? [])
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
  return Math.max(0, ...numbers.filter((number) => /^[1-9][0-9]{0,5}$/.test(number)).map(Number));
}

async function openGeneration(path: string): Promise<LogGeneration | undefined> {
  const file = await readable(open(path, "r"), path);
  if (file === undefined) return undefined;
  try {
    const { dev, ino, size, mtimeMs } = await file.stat();
    return { file, identity: `${dev}:${ino}`, size, modifiedMs: mtimeMs };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** A file of the log may be rotated away between listing and opening. */
async function readable<T>(operation: Promise<T>, path: string): Promise<T | undefined> {
  return unlessMissing(operation).catch((cause: unknown) => {
    throw new AppError("file-unreadable", `Cannot read ${path}: ${messageOf(cause)}`, { cause });
  });
}
