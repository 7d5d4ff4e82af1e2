import { inflateSync } from "node:zlib";
import { errnoOf } from "../errors.ts";
import { UnreadableDocument } from "./document-text.ts";

const MAX_STREAM_BYTES = 128 * 1024 * 1024;
const ZLIB = 0x78; // the first byte of zlib data
const DICTIONARY_BYTES = 1_000;

/**
 * Refuses a PDF with a compressed stream that expands too far: the PDF library would hold all of it in memory before any limit
 * of its thread could end it. Images may be large, because their content is never read.
 */
export function requireBoundedStreams(bytes: Uint8Array): void {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = data.indexOf("stream"); at !== -1; at = data.indexOf("stream", at + 1)) {
    const start = startOfContent(data, at + "stream".length);
    if (data[start] !== ZLIB) continue;
    const dictionary = data.toString("latin1", Math.max(0, at - DICTIONARY_BYTES), at);
    if (/\/Subtype\s*\/Image\b(?![\s\S]*\bobj\b)/.test(dictionary)) continue;
    if (expandsTooFar(data.subarray(start)))
      throw new UnreadableDocument(
        `one of its streams expands to more than ${MAX_STREAM_BYTES / 1024 / 1024} MB`,
      );
  }
}

function startOfContent(data: Buffer, at: number): number {
  return at + (data[at] === 0x0d ? 1 : 0) + (data[at + (data[at] === 0x0d ? 1 : 0)] === 0x0a ? 1 : 0);
}

function expandsTooFar(compressed: Buffer): boolean {
  try {
    inflateSync(compressed, { maxOutputLength: MAX_STREAM_BYTES });
    return false;
  } catch (error) {
    return errnoOf(error) === "ERR_BUFFER_TOO_LARGE"; // the PDF library repairs or reports other damage
  }
}
