import type { Transform } from "node:stream";
import * as zlib from "node:zlib";

/** Newer versions of Node than the oldest that we support can undo this one too. */
const { createZstdDecompress }: typeof zlib & { createZstdDecompress?: () => Transform } = zlib;

// Each hands out what it has at once, and ends where its input does: an answer that was cut is still worth reading.
const gzip = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH };
const brotli = {
  flush: zlib.constants.BROTLI_OPERATION_FLUSH,
  finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
};
const DECODERS: Readonly<Record<string, (() => Transform) | undefined>> = {
  gzip: () => zlib.createGunzip(gzip),
  "x-gzip": () => zlib.createGunzip(gzip),
  deflate: () => zlib.createInflate(gzip),
  br: () => zlib.createBrotliDecompress(brotli),
  zstd: createZstdDecompress,
};

/** What undoes the compression that the header `content-encoding` names; undefined for none and for one nobody here knows. */
export function openDecoder(encoding: string | undefined): Transform | undefined {
  return DECODERS[nameOf(encoding)]?.();
}

/** The compression that nobody here can undo, if it is such a one. */
export function unknownEncoding(encoding: string | undefined): string | undefined {
  const name = nameOf(encoding);
  return name === "" || name === "identity" || DECODERS[name] !== undefined ? undefined : name;
}

function nameOf(encoding: string | undefined): string {
  return (encoding ?? "").trim().toLowerCase();
}
