import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { logParts } from "./run-log.ts";

/** A piece of a log. Offsets count bytes from the start of the oldest part that is kept. */
export interface LogPiece {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** The total size of the parts that are kept. */
  readonly size: number;
  /** Identifies the oldest part. A changed value means that a part was deleted and all offsets have shifted. */
  readonly part: string;
}

export interface LogRange {
  /** The offset at which the piece ends; by default the end of the log. */
  readonly before?: number | undefined;
  /** The lowest offset at which the piece may begin. */
  readonly after?: number | undefined;
  readonly bytes: number;
}

interface OpenPart {
  readonly file: number;
  readonly size: number;
  /** Its inode and a hash of its first bytes, because the inode of a deleted file may be reused. */
  readonly name: string;
}

/** Reads the last bytes of a log before an offset, whole characters only. The cost does not depend on the log's size. */
export function readRunLog(path: string, { before, after = 0, bytes }: LogRange): LogPiece {
  const parts = logParts(path).flatMap((name) => openPart(name) ?? []);
  try {
    const size = parts.reduce((sum, part) => sum + part.size, 0);
    const end = Math.min(before ?? size, size);
    const start = Math.min(Math.max(after, end - bytes, 0), end);
    const read = readRange(parts, start, end);
    const [from, to] = wholeCharacters(read);
    return {
      text: read.subarray(from, to).toString("utf8"),
      from: start + from,
      to: start + to,
      size,
      part: parts[0]?.name ?? "none",
    };
  } finally {
    for (const { file } of parts) closeSync(file);
  }
}

const START_BYTES = 64;

/** Undefined for a part that was deleted or renamed in the meantime. */
function openPart(path: string): OpenPart | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return undefined;
  }
  const { size, ino } = fstatSync(file);
  const start = Buffer.alloc(size < START_BYTES ? 0 : START_BYTES);
  readSync(file, start, 0, start.length, 0);
  const hash = createHash("sha256").update(start).digest("hex").slice(0, 8);
  return { file, size, name: `${ino}-${hash}` };
}

function readRange(parts: readonly OpenPart[], start: number, end: number): Buffer {
  const chunks: Buffer[] = [];
  let offset = 0;
  for (const { file, size } of parts) {
    const [from, to] = [Math.max(start - offset, 0), Math.min(end - offset, size)];
    if (from < to) {
      const chunk = Buffer.alloc(to - from);
      chunks.push(chunk.subarray(0, readSync(file, chunk, 0, chunk.length, from)));
    }
    offset += size;
  }
  return Buffer.concat(chunks);
}

const LONGEST_CHARACTER = 4;

/** The range of the complete characters, without a partial one at either end. */
function wholeCharacters(bytes: Buffer): readonly [number, number] {
  let from = 0;
  while (from < Math.min(bytes.length, LONGEST_CHARACTER) && isContinuation(bytes[from])) from++;
  let to = bytes.length;
  for (let back = 1; back <= Math.min(LONGEST_CHARACTER, bytes.length - from); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    if (lengthOf(byte) > back) to = bytes.length - back;
    break;
  }
  return [from, Math.max(from, to)];
}

function isContinuation(byte = 0): boolean {
  return (byte & 0b1100_0000) === 0b1000_0000;
}

function lengthOf(first: number): number {
  if (first >= 0b1111_0000) return 4;
  if (first >= 0b1110_0000) return 3;
  return first >= 0b1100_0000 ? 2 : 1;
}
