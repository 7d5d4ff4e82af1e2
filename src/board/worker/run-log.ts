import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { boardFolder, DEFAULT_BOARD } from "../board-slug.ts";

export interface LogBounds {
  /** Size at which the log is set aside and begun anew. */
  readonly maxBytes: number;
  /** How many that were set aside are kept. */
  readonly backups: number;
}

const SMALLEST_BYTES = 4_096;

/** The folder with the logs of a task's runs. */
export function taskLogFolder(root: string, slug: string, taskId: string): string {
  const folder = slug === DEFAULT_BOARD ? join(root, "kanban") : boardFolder(root, slug);
  return join(folder, "logs", taskId);
}

/** What the worker of one run prints. */
export function runLogPath(root: string, slug: string, taskId: string, runId: number): string {
  return join(taskLogFolder(root, slug, taskId), `${runId}.log`);
}

/** The parts of a log that are there, oldest first. */
export function logParts(path: string): readonly string[] {
  const older: string[] = [];
  for (let number = 1; statSync(partPath(path, number), { throwIfNoEntry: false }) !== undefined; number++)
    older.unshift(partPath(path, number));
  return statSync(path, { throwIfNoEntry: false }) === undefined ? older : [...older, path];
}

/** The runs of a task that have a log, oldest first. */
export function loggedRuns(folder: string): readonly number[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(folder)
    .flatMap((name) => /^(\d+)\.log$/.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((one, other) => one - other);
}

function partPath(path: string, number: number): string {
  return number === 0 ? path : `${path}.${number}`;
}

/** A log that never grows beyond its bounds, and that never fails its writer: without space, output is lost. */
export interface RunLog extends Disposable {
  write(chunk: Uint8Array): void;
}

/** Opens the log for appending. Synchronous, so that whoever prints faster than the disk is slowed down. */
export function openRunLog(path: string, { maxBytes, backups }: LogBounds): RunLog {
  const limit = Math.max(SMALLEST_BYTES, maxBytes);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let file: number | undefined = openSync(path, "a", 0o600);
  let bytes = fstatSync(file).size;

  /** The file that is written to, set aside first when it is full; opened again when it was given up before. */
  function current(): number {
    if (file !== undefined && bytes < limit) return file;
    close();
    if (bytes >= limit) setAside(path, backups);
    const opened = openSync(path, "a", 0o600);
    file = opened;
    bytes = fstatSync(opened).size;
    return opened;
  }

  function close(): void {
    if (file !== undefined) closeSync(file);
    file = undefined;
  }

  return {
    write(chunk) {
      try {
        for (let rest = chunk; rest.length > 0; ) {
          const written = writeSync(current(), rest, 0, Math.min(rest.length, limit - bytes));
          bytes += written;
          rest = rest.subarray(written);
        }
      } catch {
        close(); // no space, or the folder was taken away: a worker's output is not worth its work
      }
    },
    [Symbol.dispose]: close,
  };
}

function setAside(path: string, backups: number): void {
  if (backups === 0) rmSync(path, { force: true });
  for (let number = backups; number >= 1; number--) {
    const newer = partPath(path, number - 1);
    if (statSync(newer, { throwIfNoEntry: false }) !== undefined) renameSync(newer, partPath(path, number));
  }
}
