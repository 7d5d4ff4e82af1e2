import { type FileHandle, open, readdir } from "node:fs/promises";
import { AppError, errnoOf, messageOf } from "../errors.ts";
import { type LogName, logPath } from "./log-path.ts";

/** One file of a log, held open, so that it can be read to its end whatever name it gets meanwhile. */
export interface LogGeneration {
  readonly file: FileHandle;
  /** The same for one file under any name. */
  readonly identity: string;
  /** Its size when it was opened. */
  readonly size: number;
  readonly modifiedMs: number;
}

/** Opens every file of a log, newest first. */
export async function openGenerations(folder: string, log: LogName): Promise<LogGeneration[]> {
  const generations: LogGeneration[] = [];
  try {
    const oldest = await findOldest(folder, log);
    // One more, because a rotation meanwhile gives each file the next number; a gap is one that was cut short.
    for (let number = 0; number <= oldest + 1; number++) {
      const generation = await openGeneration(logPath(folder, log, number));
      if (generation === undefined) continue;
      const isDouble = generations.some(({ identity }) => identity === generation.identity);
      if (isDouble) await generation.file.close();
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

/** Reads up to `length` bytes from `position` on; fewer at the end of the file. */
export async function readBytes(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

async function findOldest(folder: string, log: LogName): Promise<number> {
  const prefix = `${log}.log.`;
  const names = await unlessMissing(readdir(folder), folder);
  const numbers = (names ?? [])
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
  return Math.max(0, ...numbers.filter((number) => /^[1-9][0-9]{0,5}$/.test(number)).map(Number));
}

async function openGeneration(path: string): Promise<LogGeneration | undefined> {
  const file = await unlessMissing(open(path, "r"), path);
  if (file === undefined) return undefined;
  try {
    const { dev, ino, size, mtimeMs } = await file.stat();
    return { file, identity: `${dev}:${ino}`, size, modifiedMs: mtimeMs };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function unlessMissing<T>(opening: Promise<T>, path: string): Promise<T | undefined> {
  try {
    return await opening;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw new AppError("file-unreadable", `Cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}
