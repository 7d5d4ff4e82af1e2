import type { Transform } from "node:stream";
import * as zlib from "node:zlib";

/** Not available in the oldest supported versions of Node. */
const { createZstdDecompress }: typeof zlib & { createZstdDecompress?: () => Transform } = zlib;

// Each decoder outputs available data immediately and accepts truncated input, because a cut response is still useful.
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

/** Opens a decoder for the value of the `content-encoding` header; undefined for no or an unsupported encoding. */
export function openDecoder(encoding: string | undefined): Transform | undefined {
  return DECODERS[nameOf(encoding)]?.();
}

/** Returns the name of an unsupported encoding, or undefined. */
export function findUnsupportedEncoding(encoding: string | undefined): string | undefined {
  const name = nameOf(encoding);
  return name === "" || name === "identity" || DECODERS[name] !== undefined ? undefined : name;
}

function nameOf(encoding: string | undefined): string {
  return (encoding ?? "").trim().toLowerCase();
}
