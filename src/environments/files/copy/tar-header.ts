/** One entry of an archive, as far as we make or take any. */
export interface TarEntry {
  readonly name: string;
  readonly type: "file" | "folder" | "symlink" | "hardlink" | "other";
  readonly mode: number;
  readonly size: number;
  readonly linkName: string;
  readonly modifiedSeconds: number;
}

export const BLOCK = 512;
const NAME_BYTES = 100;
const TYPES: Readonly<Record<string, TarEntry["type"]>> = {
  "\0": "file",
  "0": "file",
  "7": "file",
  "1": "hardlink",
  "2": "symlink",
  "5": "folder",
};
const FLAGS = { file: "0", hardlink: "1", symlink: "2", folder: "5", other: "6" } as const;

/** How many bytes of zeros follow content of this size. */
export function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

/** The header of an entry; long names go before it, in the form that GNU, BSD and busybox all read. */
export function formatHeader(entry: TarEntry): Buffer {
  const blocks: Buffer[] = [];
  for (const [flag, text] of [
    ["K", entry.linkName],
    ["L", entry.name],
  ] as const) {
    const bytes = Buffer.from(text, "utf8");
    if (bytes.length < NAME_BYTES) continue;
    const ended = Buffer.concat([bytes, Buffer.alloc(1)]);
    blocks.push(block("././@LongLink", flag, { mode: 0o644, size: ended.length, seconds: 0, link: "" }));
    blocks.push(ended, Buffer.alloc(padding(ended.length)));
  }
  const { mode, size, modifiedSeconds: seconds, linkName: link } = entry;
  blocks.push(block(entry.name, FLAGS[entry.type], { mode, size, seconds, link }));
  return Buffer.concat(blocks);
}

function block(
  name: string,
  flag: string,
  { mode, size, seconds, link }: { mode: number; size: number; seconds: number; link: string },
): Buffer {
  const header = Buffer.alloc(BLOCK);
  Buffer.from(name, "utf8").copy(header, 0, 0, NAME_BYTES - 1);
  header.write(octal(mode, 7), 100, "latin1");
  header.write(octal(0, 7), 108, "latin1");
  header.write(octal(0, 7), 116, "latin1");
  if (size < 8 ** 11) header.write(octal(size, 11), 124, "latin1");
  else {
    header[124] = 0x80; // beyond 8 GB: the number itself instead of its digits
    header.writeUIntBE(size, 130, 6);
  }
  header.write(octal(Math.min(8 ** 11 - 1, Math.max(0, Math.trunc(seconds))), 11), 136, "latin1");
  header.write(flag, 156, "latin1");
  Buffer.from(link, "utf8").copy(header, 157, 0, NAME_BYTES - 1);
  header.write("ustar  \0", 257, "latin1");
  header.write(`${octal(checksum(header), 6)}\0 `, 148, "latin1");
  return header;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function checksum(header: Buffer): number {
  let sum = 0;
  for (const [index, byte] of header.entries()) sum += index >= 148 && index < 156 ? 0x20 : byte;
  return sum;
}

export interface ParsedHeader extends TarEntry {
  /** The letter in the archive; L, K, x and g describe the entry that follows. */
  readonly flag: string;
}

/** Undefined when the block is none. */
export function parseHeader(header: Buffer): ParsedHeader | undefined {
  if (parseNumber(header.subarray(148, 156)) !== checksum(header)) return undefined;
  const size = parseNumber(header.subarray(124, 136));
  const mode = parseNumber(header.subarray(100, 108));
  if (!Number.isSafeInteger(size) || size < 0 || !Number.isSafeInteger(mode)) return undefined;
  const flag = String.fromCharCode(header[156] ?? 0);
  const isPosix = header.toString("latin1", 257, 263) === "ustar\0";
  const prefix = isPosix ? text(header.subarray(345, 500)) : "";
  const name = text(header.subarray(0, NAME_BYTES));
  const type = TYPES[flag] ?? "other";
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    // Before there was a letter for folders, a slash at the end told them.
    type: type === "file" && name.endsWith("/") ? "folder" : type,
    flag,
    mode: mode & 0o7777,
    size: type === "hardlink" || type === "symlink" || type === "folder" ? 0 : size,
    linkName: text(header.subarray(157, 257)),
    modifiedSeconds: parseNumber(header.subarray(136, 148)),
  };
}

/** Up to the first NUL. */
export function text(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("utf8", 0, end === -1 ? bytes.length : end);
}

function parseNumber(bytes: Buffer): number {
  if (((bytes[0] ?? 0) & 0x80) !== 0) {
    let value = (bytes[0] ?? 0) & 0x7f;
    for (const byte of bytes.subarray(1)) value = value * 256 + byte;
    return value;
  }
  const digits = text(bytes).trim();
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || "0", 8) : Number.NaN;
}
