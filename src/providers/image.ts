import { readFile, stat } from "node:fs/promises";
import { errnoOf, messageOf } from "../lib/errors.ts";
import type { ImagePart } from "./message.ts";

const MEGABYTE = 1024 * 1024;
/** The limits of the providers. */
export const MAX_IMAGE_BYTES = 5 * MEGABYTE;
const MAX_SIDE = 8_000;

/** What to do about an image that cannot be sent. */
export const IMAGE_HINT =
  "Give a PNG, JPEG, GIF or WebP image of at most 5 MB and 8,000 pixels on each side.";

export type ParsedImage = ImagePart | { readonly problem: string };

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Checks an image by its first bytes, without decoding it. The file name does not count, because providers check the content. */
export function parseImage(bytes: Uint8Array): ParsedImage {
  const { length } = bytes;
  if (length === 0) return { problem: "it is empty" };
  if (length > MAX_IMAGE_BYTES) return { problem: tooLarge(length) };
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, length);
  const format = FORMATS.find(({ signature, after8 }) => {
    const head = data.toString("latin1", 0, 12);
    return head.startsWith(signature) && (after8 === undefined || head.endsWith(after8));
  });
  if (format === undefined) return { problem: "its content is not PNG, JPEG, GIF or WebP" };
  const size = readSize(format.sizeOf, data);
  if (size !== undefined && Math.max(size.width, size.height) > MAX_SIDE)
    return { problem: `it has ${size.width} x ${size.height} pixels; the limit is ${MAX_SIDE} on each side` };
  return { type: "image", mediaType: format.mediaType, data: data.toString("base64") };
}

/** Reads an image of this machine for a model; returns a problem when the file cannot be sent as an image. */
export async function readImage(file: string): Promise<ParsedImage> {
  try {
    const found = await stat(file);
    if (!found.isFile()) return { problem: "it is not a file" };
    if (found.size > MAX_IMAGE_BYTES) return { problem: tooLarge(found.size) };
    return parseImage(await readFile(file));
  } catch (error) {
    return { problem: errnoOf(error) === "ENOENT" ? "there is no such file" : messageOf(error) };
  }
}

function tooLarge(size: number): string {
  return `it is ${Math.ceil((size / MEGABYTE) * 10) / 10} MB; the limit is 5 MB`;
}

function readSize(sizeOf: (data: Buffer) => Size | undefined, data: Buffer): Size | undefined {
  try {
    const size = sizeOf(data);
    return size && size.width > 0 && size.height > 0 ? size : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined; // the file ends inside its header
    throw error;
  }
}

/** The first bytes of image files, as Latin-1, and how to read the size of the image. */
const FORMATS: readonly {
  readonly mediaType: string;
  readonly signature: string;
  readonly after8?: string;
  sizeOf(data: Buffer): Size | undefined;
}[] = [
  {
    mediaType: "image/png",
    signature: "\x89PNG\r\n\x1a\n",
    sizeOf: (data) => ({ width: data.readUInt32BE(16), height: data.readUInt32BE(20) }),
  },
  { mediaType: "image/jpeg", signature: "\xff\xd8\xff", sizeOf: jpegSize },
  { mediaType: "image/gif", signature: "GIF87a", sizeOf: gifSize },
  { mediaType: "image/gif", signature: "GIF89a", sizeOf: gifSize },
  { mediaType: "image/webp", signature: "RIFF", after8: "WEBP", sizeOf: webpSize }, // four bytes of length are in between
];

function gifSize(data: Buffer): Size {
  return { width: data.readUInt16LE(6), height: data.readUInt16LE(8) };
}

/** Skips segments up to a start of frame, which contains the size. */
function jpegSize(data: Buffer): Size | undefined {
  for (let at = 2; at < data.length; ) {
    if (data.readUInt8(at) !== 0xff) return undefined;
    const marker = data.readUInt8(at + 1);
    if (marker === 0xff || (marker >= 0xd0 && marker <= 0xd8)) {
      at += marker === 0xff ? 1 : 2; // padding, and markers without content
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: data.readUInt16BE(at + 5), width: data.readUInt16BE(at + 7) };
    at += 2 + Math.max(data.readUInt16BE(at + 2), 2);
  }
  return undefined;
}

function webpSize(data: Buffer): Size | undefined {
  switch (data.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { width: data.readUInt16LE(26) & 0x3fff, height: data.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = data.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: data.readUIntLE(24, 3) + 1, height: data.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}
