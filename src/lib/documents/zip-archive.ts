import { inflateRawSync } from "node:zlib";
import { UnreadableDocument } from "./document-text.ts";

const MAX_ENTRIES = 10_000;
/** Limit for the uncompressed bytes of all entries that are read: a few compressed bytes could expand to fill the memory. */
const MAX_BYTES = 100 * 1024 * 1024;

const END = 0x06054b50;
const END_LENGTH = 22;
const DIRECTORY_ENTRY = 0x02014b50;
const MAX_COMMENT = 0xffff;

interface Entry {
  readonly method: number;
  readonly isEncrypted: boolean;
  readonly start: number;
  readonly compressedBytes: number;
}

/** Reads entries of a ZIP archive as text; undefined for a missing entry. */
export interface ZipArchive {
  readonly names: readonly string[];
  read(name: string): string | undefined;
}

export function openZipArchive(data: Uint8Array): ZipArchive {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const entries = readDirectory(bytes);
  let left = MAX_BYTES;
  return {
    names: [...entries.keys()],
    read(name) {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      const content = readEntry(bytes, entry, left);
      left -= content.length;
      return content.toString("utf8");
    },
  };
}

function readDirectory(bytes: Buffer): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  try {
    const end = findEnd(bytes);
    const count = bytes.readUInt16LE(end + 10);
    let at = bytes.readUInt32LE(end + 16);
    if (count > MAX_ENTRIES) throw new UnreadableDocument(`it has more than ${MAX_ENTRIES} parts`);
    for (let index = 0; index < count; index++) {
      if (bytes.readUInt32LE(at) !== DIRECTORY_ENTRY) throw damaged();
      const nameLength = bytes.readUInt16LE(at + 28);
      const header = bytes.readUInt32LE(at + 42);
      entries.set(bytes.toString("utf8", at + 46, at + 46 + nameLength), {
        isEncrypted: (bytes.readUInt16LE(at + 8) & 1) === 1,
        method: bytes.readUInt16LE(at + 10),
        compressedBytes: bytes.readUInt32LE(at + 20),
        start: header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28),
      });
      at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
    }
  } catch (error) {
    throw error instanceof RangeError ? damaged() : error; // an offset beyond the end
  }
  return entries;
}

/** The end record is the last one, before a comment of any length. */
function findEnd(bytes: Buffer): number {
  const last = bytes.length - END_LENGTH;
  for (let at = last; at >= Math.max(0, last - MAX_COMMENT); at--)
    if (bytes.readUInt32LE(at) === END) return at;
  throw damaged();
}

function readEntry(bytes: Buffer, entry: Entry, maxBytes: number): Buffer {
  const { method, isEncrypted, start, compressedBytes } = entry;
  if (isEncrypted) throw new UnreadableDocument("it is encrypted");
  const compressed = bytes.subarray(start, start + compressedBytes);
  if (method === 0 && compressed.length <= maxBytes) return compressed;
  if (method !== 0 && method !== 8) throw new UnreadableDocument("it is compressed in an unknown way");
  try {
    return inflateRawSync(compressed, { maxOutputLength: Math.max(maxBytes, 1) });
  } catch (cause) {
    const isTooLarge = cause instanceof RangeError;
    const why = `it expands to more than ${MAX_BYTES / 1024 / 1024} MB`;
    throw isTooLarge ? new UnreadableDocument(why, { cause }) : damaged();
  }
}

function damaged(): UnreadableDocument {
  return new UnreadableDocument("it is damaged");
}
