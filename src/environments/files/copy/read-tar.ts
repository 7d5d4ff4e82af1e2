import { BLOCK, type ParsedHeader, padding, parseHeader, type TarEntry, text } from "./tar-header.ts";

/** The archive is not one, or names what it may not. */
export class ArchiveRefused extends Error {
  override readonly name = "ArchiveRefused";
}

/** Takes entries in turn; `write` and `end` belong to the entry begun last, and only files have content. */
export interface TarSink {
  begin(entry: TarEntry): Promise<void>;
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
}

export interface TarReader {
  push(bytes: Uint8Array): Promise<void>;
  /** Whether the archive was read to its end. */
  readonly isComplete: boolean;
}

const LONGEST_NOTE = 1024 * 1024;

/** Reads an archive as it comes: ustar, GNU long names, pax names and sizes. Nothing is held but one block and one name. */
export function createTarReader(sink: TarSink): TarReader {
  let block = Buffer.alloc(0); // the part of a header that is there
  let content = 0; // bytes of the entry still to come
  let gap = 0; // zeros after it
  let target: "sink" | "note" | "nowhere" = "nowhere";
  let note: { flag: string; chunks: Buffer[] } = { flag: "", chunks: [] };
  let known: { name?: string; linkName?: string; size?: number } = {}; // told ahead of the next entry
  let complete = false;

  const begin = async (header: ParsedHeader): Promise<void> => {
    content = header.size;
    if ("LKxg".includes(header.flag)) {
      if (header.size > LONGEST_NOTE) throw new ArchiveRefused("a name in the archive is too long");
      note = { flag: header.flag, chunks: [] };
      target = "note";
    } else {
      const { flag: _, ...own } = header;
      const entry = { ...own, ...known };
      known = {};
      content = entry.type === "file" || entry.type === "other" ? entry.size : 0;
      target = entry.type === "file" ? "sink" : "nowhere";
      await sink.begin(entry);
    }
    gap = padding(content);
    if (content === 0) await finish();
  };
  const finish = async (): Promise<void> => {
    if (target === "sink") await sink.end();
    if (target === "note") known = { ...known, ...readNote(note.flag, Buffer.concat(note.chunks)) };
    target = "nowhere";
  };

  return {
    get isComplete() {
      return complete;
    },
    async push(bytes) {
      let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      while (rest.length > 0 && !complete) {
        if (content > 0) {
          const part = rest.subarray(0, content);
          rest = rest.subarray(part.length);
          content -= part.length;
          if (target === "sink") await sink.write(part);
          if (target === "note") note.chunks.push(Buffer.from(part));
          if (content === 0) await finish();
        } else if (gap > 0) {
          const skipped = Math.min(gap, rest.length);
          rest = rest.subarray(skipped);
          gap -= skipped;
        } else {
          const part = rest.subarray(0, BLOCK - block.length);
          rest = rest.subarray(part.length);
          block = Buffer.concat([block, part]);
          if (block.length < BLOCK) return;
          const whole = block;
          block = Buffer.alloc(0);
          if (whole.every((byte) => byte === 0)) complete = true;
          else {
            const header = parseHeader(whole);
            if (header === undefined) throw new ArchiveRefused("a header in the archive is damaged");
            await begin(header);
          }
        }
      }
    },
  };
}

function readNote(flag: string, bytes: Buffer): { name?: string; linkName?: string; size?: number } {
  if (flag === "L") return { name: text(bytes) };
  if (flag === "K") return { linkName: text(bytes) };
  return flag === "x" ? readPax(bytes) : {};
}

/** Records of the form `LENGTH KEY=VALUE newline`, where the length counts all of it. */
function readPax(bytes: Buffer): { name?: string; linkName?: string; size?: number } {
  const found: { name?: string; linkName?: string; size?: number } = {};
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = space === -1 ? 0 : Number(bytes.toString("latin1", at, space));
    if (!Number.isSafeInteger(length) || length < 5 || at + length > bytes.length) {
      throw new ArchiveRefused("a pax record in the archive is damaged");
    }
    const record = bytes.toString("utf8", space + 1, at + length - 1);
    const equals = record.indexOf("=");
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === "path") found.name = value;
    if (key === "linkpath") found.linkName = value;
    if (key === "size") {
      const size = Number(value);
      if (!Number.isSafeInteger(size) || size < 0)
        throw new ArchiveRefused("a size in the archive is damaged");
      found.size = size;
    }
    at += length;
  }
  return found;
}
