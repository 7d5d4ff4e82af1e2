import { closeSync, constants, fstatSync, mkdirSync, openSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "../errors.ts";
import { isOnlyMadeWhole } from "../files.ts";
import { type LogName, logPath } from "./log-path.ts";
import { type LogLimits, rotateLog } from "./rotate-log.ts";

/** A log that any number of processes append to at once. */
export interface LogFile extends Disposable {
  /** True when the line, its newline included, is in the file; false when the disk or the folder refused it. */
  append(line: string): boolean;
}

// Not blocking: should somebody have put a pipe there, nobody may wait for its reader.
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
const ROTATION_PAUSE_MS = 1_000;

/** Opens a log of a folder; file and folder appear with the first line. Rotates in the background, when it is due. */
export function openLogFile(folder: string, log: LogName, limits: LogLimits): LogFile {
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

  /** The file that the path names now, which another process may have replaced since the last line. */
  const current = () => {
    const there = statSync(path, { throwIfNoEntry: false });
    if (file !== undefined && there?.ino === file.inode && there.dev === file.device) {
      return { descriptor: file.descriptor, size: there.size };
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
      // The log grows on and the next lines ask again: a rotation that is late harms nobody.
      rotationPausedUntil = performance.now() + ROTATION_PAUSE_MS;
    } finally {
      isRotating = false;
    }
  };

  return {
    append(line) {
      if (closing.signal.aborted) return false;
      try {
        const { descriptor, size } = current();
        const bytes = Buffer.from(isTorn ? `\n${line}` : line);
        // One call: the kernel keeps the lines of several processes apart, but not the parts of a line.
        isTorn = writeSync(descriptor, bytes) < bytes.length;
        if (size + bytes.length >= limits.maxSizeBytes) void rotate();
        return !isTorn;
      } catch {
        return false; // the caller counts it: whoever cannot log must go on all the same
      }
    },
    [Symbol.dispose]() {
      closing.abort();
      close();
    },
  };
}

/** A last line of a process whose home is gone is lost, instead of bringing the home back. */
function makeLogFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: !isOnlyMadeWhole(dirname(folder)), mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}
