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
import { boardFolder, DEFAULT_BOARD } from "../../board-slug.ts";

export interface LogBounds {
  /** The size at which the log is rotated. */
  readonly maxBytes: number;
  /** How many rotated logs are kept. */
  readonly backups: number;
}

const SMALLEST_BYTES = 4_096;

/** The folder with the logs of a task's runs. */
export function taskLogFolder(root: string, slug: string, taskId: string): string {
  const folder = slug === DEFAULT_BOARD ? join(root, "kanban") : boardFolder(root, slug);
  return join(folder, "logs", taskId);
}

/** The path of the log that holds the output of one run's worker. */
export function runLogPath(root: string, slug: string, taskId: string, runId: number): string {
  return join(taskLogFolder(root, slug, taskId), `${runId}.log`);
}

/** The existing parts of a log, oldest first. */
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

/** A log of bounded size whose `write` never throws: without disk space, output is lost. */
export interface RunLog extends Disposable {
  write(chunk: Uint8Array): void;
}

/** Opens the log for appending. Writes are synchronous, so that a worker cannot print faster than the disk writes. */
export function openRunLog(path: string, { maxBytes, backups }: LogBounds): RunLog {
  const limit = Math.max(SMALLEST_BYTES, maxBytes);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let file: number | undefined = openSync(path, "a", 0o600);
  let bytes = fstatSync(file).size;

  /** The open file; rotated first when it is full, and reopened after a failed write. */
  function openCurrentFile(): number {
    if (file !== undefined && bytes < limit) return file;
    close();
    if (bytes >= limit) rotate(path, backups);
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
          const written = writeSync(openCurrentFile(), rest, 0, Math.min(rest.length, limit - bytes));
          bytes += written;
          rest = rest.subarray(written);
        }
      } catch {
        close(); // the disk is full or the folder was removed; lost output must not stop the worker
      }
    },
    [Symbol.dispose]: close,
  };
}

function rotate(path: string, backups: number): void {
  if (backups === 0) rmSync(path, { force: true });
  for (let number = backups; number >= 1; number--) {
    const newer = partPath(path, number - 1);
    if (statSync(newer, { throwIfNoEntry: false }) !== undefined) renameSync(newer, partPath(path, number));
  }
}
