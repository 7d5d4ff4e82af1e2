import { hash } from "node:crypto";

/** A serialized piece of a request body. Its hash is computed on demand, after the request was sent. */
export interface SerializedPiece {
  readonly json: string;
  hash: string | undefined;
}

/** Serializes each message and tool list of a conversation once, even if it is sent many times. */
export function createPieceCache(): (key: object, write: () => string) => SerializedPiece {
  const known = new WeakMap<object, SerializedPiece>();
  return (key, write) => {
    const piece = known.get(key) ?? { json: write(), hash: undefined };
    known.set(key, piece);
    return piece;
  };
}

/** 96 bits are enough, because prompts are not adversarial, and short because each request stores its list. */
export function hashPiece(piece: SerializedPiece): string {
  piece.hash ??= hash("sha256", piece.json, "base64url").slice(0, 16);
  return piece.hash;
}
