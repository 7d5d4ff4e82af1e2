/** One entry of an archive. Names are byte strings, because a file name need not be UTF-8. */
export interface TarEntry {
  readonly name: ByteString;
  readonly type: "file" | "folder" | "symlink" | "hardlink" | "other";
  readonly mode: number;
  readonly size: number;
  readonly linkName: ByteString;
}

/** Bytes as text in which each character is one byte. */
export type ByteString = string;

export function bytesOf(name: ByteString): Buffer {
  return Buffer.from(name, "latin1");
}

/** The name for a message; bytes that are not UTF-8 are replaced. */
export function readableName(name: ByteString): string {
  return bytesOf(name).toString("utf8");
}

export const BLOCK_BYTES = 512;
const NAME_BYTES = 100;
const TYPES: Readonly<Record<string, TarEntry["type"]>> = {
  "\0": "file",
  "0": "file",
  "7": "file",
  "1": "hardlink",
  "2": "symlink",
  "5": "folder",
};
/** An entry to write; unless given, it is an empty file. */
export type NewEntry = Partial<TarEntry> & { readonly name: ByteString; readonly modifiedSeconds?: number };

const FLAGS = { file: "0", hardlink: "1", symlink: "2", folder: "5", other: "6" } as const;

const EMPTY_FILE = { type: "file", mode: 0o644, size: 0, linkName: "", modifiedSeconds: 0 } as const;

/** The number of zero bytes that follow content of this size. */
export function padding(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
}

/** Formats the header of an entry. Long names precede it in the GNU format, which GNU, BSD and busybox read. */
export function formatHeader(known: NewEntry): Buffer {
  const entry = { ...EMPTY_FILE, ...known };
  const blocks: Buffer[] = [];
  for (const [flag, text] of [
    ["K", entry.linkName],
    ["L", entry.name],
  ] as const) {
    const bytes = bytesOf(text);
    if (bytes.length < NAME_BYTES) continue;
    const ended = Buffer.concat([bytes, Buffer.alloc(1)]);
    const long = { ...EMPTY_FILE, name: "././@LongLink", size: ended.length };
    blocks.push(block(long, flag), ended, Buffer.alloc(padding(ended.length)));
  }
  return Buffer.concat([...blocks, block(entry, FLAGS[entry.type])]);
}

function block({ name, mode, size, linkName, modifiedSeconds }: Required<NewEntry>, flag: string): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  bytesOf(name).copy(header, 0, 0, NAME_BYTES - 1);
  header.write(formatOctal(mode, 7), 100, "latin1");
  header.write(formatOctal(0, 7), 108, "latin1");
  header.write(formatOctal(0, 7), 116, "latin1");
  if (size < 8 ** 11) header.write(formatOctal(size, 11), 124, "latin1");
  else {
    header[124] = 0x80; // from 8 GB on: a binary number instead of octal digits
    header.writeUIntBE(size, 130, 6);
  }
  header.write(
    formatOctal(Math.min(8 ** 11 - 1, Math.max(0, Math.trunc(modifiedSeconds))), 11),
    136,
    "latin1",
  );
  header.write(flag, 156, "latin1");
  bytesOf(linkName).copy(header, 157, 0, NAME_BYTES - 1);
  header.write("ustar  \0", 257, "latin1");
  header.write(`${formatOctal(checksum(header), 6)}\0 `, 148, "latin1");
  return header;
}

function formatOctal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function checksum(header: Buffer): number {
  let sum = 0;
  for (const [index, byte] of header.entries()) sum += index >= 148 && index < 156 ? 0x20 : byte;
  return sum;
}

export interface ParsedHeader extends TarEntry {
  /** The type flag; L, K, x and g describe the following entry. */
  readonly flag: string;
}

/** Returns undefined if the block is not a valid header. */
export function parseHeader(header: Buffer): ParsedHeader | undefined {
  if (parseNumber(header.subarray(148, 156)) !== checksum(header)) return undefined;
  const size = parseNumber(header.subarray(124, 136));
  const mode = parseNumber(header.subarray(100, 108));
  if (!Number.isSafeInteger(size) || size < 0 || !Number.isSafeInteger(mode)) return undefined;
  const flag = String.fromCharCode(header[156] ?? 0);
  const isPosix = header.toString("latin1", 257, 263) === "ustar\0";
  const prefix = isPosix ? parseString(header.subarray(345, 500)) : "";
  const name = parseString(header.subarray(0, NAME_BYTES));
  const type = TYPES[flag] ?? "other";
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    // Old archives mark folders by a trailing slash only.
    type: type === "file" && name.endsWith("/") ? "folder" : type,
    flag,
    mode: mode & 0o7777,
    size: type === "hardlink" || type === "symlink" || type === "folder" ? 0 : size,
    linkName: parseString(header.subarray(157, 257)),
  };
}

/** Returns the bytes up to the first NUL. */
export function parseString(bytes: Buffer): ByteString {
  const end = bytes.indexOf(0);
  return bytes.toString("latin1", 0, end === -1 ? bytes.length : end);
}

function parseNumber(bytes: Buffer): number {
  if (((bytes[0] ?? 0) & 0x80) !== 0) {
    let value = (bytes[0] ?? 0) & 0x7f;
    for (const byte of bytes.subarray(1)) value = value * 256 + byte;
    return value;
  }
  const digits = parseString(bytes).trim();
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || "0", 8) : Number.NaN;
}
