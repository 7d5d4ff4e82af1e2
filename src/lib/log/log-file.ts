import { closeSync, constants, fstatSync, mkdirSync, openSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "../errors.ts";
import { isNamedProfileHome } from "../files/files.ts";
import { type LogName, logPath } from "./log-path.ts";
import { type LogLimits, rotateLog } from "./rotate-log.ts";

// Non-blocking: if the path names a pipe, opening and writing must not wait for its reader.
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
const ROTATION_PAUSE_MS = 1_000;

/**
 * Opens a log that several processes may append to at the same time. The first line creates the file and its folder.
 * Rotates in the background when the file is too large.
 */
export function openLogFile(folder: string, log: LogName, limits: LogLimits) {
  const path = logPath(folder, log);
  const closing = new AbortController();
  let file: { descriptor: number; device: number; inode: number } | undefined;
  let isTorn = false;
  let isRotating = false;
  let rotationPausedUntil = 0;

  const close = () => {
    if (file !== undefined) closeSync(file.descriptor);
    file = undefined;
  };

  /** Reopens the file when another process has rotated or removed it since the last line. */
  const openCurrent = () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (file !== undefined && found?.ino === file.inode && found.dev === file.device) {
      return { descriptor: file.descriptor, size: found.size };
    }
    close();
    makeLogFolder(folder);
    const descriptor = openSync(path, FLAGS, 0o600);
    const { dev: device, ino: inode, size } = fstatSync(descriptor);
    file = { descriptor, device, inode };
    isTorn = false;
    return { descriptor, size };
  };

  const rotate = async () => {
    if (isRotating || performance.now() < rotationPausedUntil) return;
    isRotating = true;
    try {
      await rotateLog(folder, log, limits, closing.signal);
    } catch {
      // A late rotation does no harm: the log keeps growing and a later line tries again.
      rotationPausedUntil = performance.now() + ROTATION_PAUSE_MS;
    } finally {
      isRotating = false;
    }
  };

  return {
    /** Returns true when the whole line, including its newline, was written; false when the write failed. */
    append(line: string): boolean {
      if (closing.signal.aborted) return false;
      try {
        const { descriptor, size } = openCurrent();
        const bytes = Buffer.from(isTorn ? `\n${line}` : line);
        // One write per line: with O_APPEND the kernel does not interleave single writes of several processes.
        isTorn = writeSync(descriptor, bytes) < bytes.length;
        if (size + bytes.length >= limits.maxSizeBytes) void rotate();
        return !isTorn;
      } catch {
        return false; // a failed log line must not stop the program; the caller counts it
      }
    },
    [Symbol.dispose]() {
      closing.abort();
      close();
    },
  };
}

/** Does not recreate the home of a profile that was renamed or deleted: the log line is lost instead. */
function makeLogFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: !isNamedProfileHome(dirname(folder)), mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}
