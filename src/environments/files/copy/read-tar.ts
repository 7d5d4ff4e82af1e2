import {
  BLOCK_BYTES,
  type ByteString,
  type ParsedHeader,
  padding,
  parseHeader,
  parseString,
  type TarEntry,
} from "./tar-header.ts";

/** The archive is invalid or contains forbidden names. */
export class ArchiveRefused extends Error {
  override readonly name = "ArchiveRefused";
}

/** Receives entries one by one; `write` and `end` refer to the last `begin`. Only files have content. */
export interface TarSink {
  begin(entry: TarEntry): Promise<void>;
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
}

type Extension = { name?: ByteString; linkName?: ByteString; size?: number };

const MAX_EXTENSION_BYTES = 1024 * 1024;

/** Reads an archive as a stream: ustar, GNU long names, pax names and sizes. Buffers only one block and one name. */
export function createTarReader(sink: TarSink) {
  let block = Buffer.alloc(0); // an incomplete header
  let content = 0; // remaining bytes of the entry
  let gap = 0; // remaining padding after the entry
  let target: "sink" | "extension" | "discard" = "discard";
  let extension: { flag: string; chunks: Buffer[] } = { flag: "", chunks: [] };
  let extended: Extension = {}; // values for the next entry
  let complete = false;

  const begin = async (header: ParsedHeader): Promise<void> => {
    content = header.size;
    if ("LKxg".includes(header.flag)) {
      if (header.size > MAX_EXTENSION_BYTES) throw new ArchiveRefused("a name in the archive is too long");
      extension = { flag: header.flag, chunks: [] };
      target = "extension";
    } else {
      const { flag: _, ...own } = header;
      const entry = { ...own, ...extended };
      extended = {};
      content = entry.type === "file" || entry.type === "other" ? entry.size : 0;
      target = entry.type === "file" ? "sink" : "discard";
      await sink.begin(entry);
    }
    gap = padding(content);
    if (content === 0) await finish();
  };
  const finish = async (): Promise<void> => {
    if (target === "sink") await sink.end();
    if (target === "extension")
      extended = { ...extended, ...parseExtension(extension.flag, Buffer.concat(extension.chunks)) };
    target = "discard";
  };

  return {
    /** Whether the archive was read to its end. */
    get isComplete(): boolean {
      return complete;
    },
    async push(bytes: Uint8Array): Promise<void> {
      let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      while (rest.length > 0 && !complete) {
        if (content > 0) {
          const part = rest.subarray(0, content);
          rest = rest.subarray(part.length);
          content -= part.length;
          if (target === "sink") await sink.write(part);
          if (target === "extension") extension.chunks.push(Buffer.from(part));
          if (content === 0) await finish();
        } else if (gap > 0) {
          const skipped = Math.min(gap, rest.length);
          rest = rest.subarray(skipped);
          gap -= skipped;
        } else {
          const part = rest.subarray(0, BLOCK_BYTES - block.length);
          rest = rest.subarray(part.length);
          block = Buffer.concat([block, part]);
          if (block.length < BLOCK_BYTES) return;
          const whole = block;
          block = Buffer.alloc(0);
          if (whole.every((byte) => byte === 0)) complete = true;
          else {
            const header = parseHeader(whole);
            if (header === undefined) throw new ArchiveRefused("a header in the archive is invalid");
            await begin(header);
          }
        }
      }
    },
  };
}

function parseExtension(flag: string, bytes: Buffer): Extension {
  if (flag === "L") return { name: parseString(bytes) };
  if (flag === "K") return { linkName: parseString(bytes) };
  return flag === "x" ? parsePax(bytes) : {};
}

/** Parses records of the form `LENGTH KEY=VALUE newline`; the length counts the whole record. */
function parsePax(bytes: Buffer): Extension {
  const found: Extension = {};
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = space === -1 ? 0 : Number(bytes.toString("latin1", at, space));
    if (!Number.isSafeInteger(length) || length < 5 || at + length > bytes.length) {
      throw new ArchiveRefused("a pax record in the archive is invalid");
    }
    const record = bytes.toString("latin1", space + 1, at + length - 1);
    const equals = record.indexOf("=");
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === "path") found.name = value;
    if (key === "linkpath") found.linkName = value;
    if (key === "size") {
      const size = Number(value);
      if (!Number.isSafeInteger(size) || size < 0)
        throw new ArchiveRefused("a size in the archive is invalid");
      found.size = size;
    }
    at += length;
  }
  return found;
}
