const TOKEN_LENGTH = 32;
const LONGEST_ANSWER = 512;
const MAX_STATE_BYTES = 1024 * 1024;

/** What a stream of a channel is made of. */
export interface FrameEvents {
  output(bytes: Uint8Array): void;
  answer(token: string, letter: string, fields: string): void;
  /** The state that a command left, or undefined when it was too large to keep. */
  state(token: string, text: string | undefined): void;
}

/** Takes the answers of the driver out of a stream of bytes; everything else is output. */
export interface FrameParser {
  push(chunk: Buffer): void;
  /** Says which tokens are ours; a look-alike with any other stays output. */
  expect(token: string, kind: "answers" | "state"): void;
  forget(token: string): void;
  /** Hands out what was held back because it might have become an answer. */
  flush(): void;
}

/** Tokens of one channel begin with the same 16 characters, so that one search finds them all. */
export function createFrameParser(prefix: string, events: FrameEvents): FrameParser {
  const needle = Buffer.from(prefix, "latin1");
  const kinds = new Map<string, "answers" | "state">();
  let held: Buffer = Buffer.alloc(0);
  let collecting: { token: string; chunks: Buffer[]; size: number } | undefined;

  const emit = (bytes: Buffer): void => {
    if (bytes.length === 0) return;
    if (collecting === undefined) {
      events.output(bytes);
      return;
    }
    collecting.size += bytes.length;
    if (collecting.size <= MAX_STATE_BYTES) collecting.chunks.push(bytes);
  };
  const toggle = (token: string): void => {
    if (collecting?.token !== token) {
      collecting = { token, chunks: [], size: 0 };
      return;
    }
    const { chunks, size } = collecting;
    collecting = undefined;
    events.state(token, size > MAX_STATE_BYTES ? undefined : Buffer.concat(chunks).toString("utf8"));
  };
  /** Length of the answer that the bytes begin with; undefined when more are needed, 0 when it is none of ours. */
  const take = (bytes: Buffer): number | undefined => {
    if (bytes.length < TOKEN_LENGTH) return undefined;
    const token = bytes.toString("latin1", 0, TOKEN_LENGTH);
    const kind = kinds.get(token);
    if (kind === undefined) return 0;
    if (kind === "state") {
      toggle(token);
      return TOKEN_LENGTH;
    }
    const end = bytes.indexOf(0x3b, TOKEN_LENGTH);
    if (end === -1) return bytes.length > LONGEST_ANSWER ? 0 : undefined;
    events.answer(
      token,
      bytes.toString("latin1", TOKEN_LENGTH, TOKEN_LENGTH + 1),
      bytes.toString("latin1", TOKEN_LENGTH + 1, end),
    );
    return end + 1;
  };

  return {
    expect: (token, kind) => void kinds.set(token, kind),
    forget(token) {
      kinds.delete(token);
      // A command killed in the middle of its state never closes it; what follows is output again.
      if (collecting?.token === token) collecting = undefined;
    },
    push(chunk) {
      let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      held = Buffer.alloc(0);
      for (;;) {
        const start = bytes.indexOf(needle);
        if (start === -1) break;
        emit(bytes.subarray(0, start));
        bytes = bytes.subarray(start);
        const length = take(bytes);
        if (length === undefined) {
          held = bytes;
          return;
        }
        if (length === 0) emit(bytes.subarray(0, needle.length));
        bytes = bytes.subarray(length || needle.length);
      }
      const keep = overlap(bytes, needle);
      emit(bytes.subarray(0, bytes.length - keep));
      held = bytes.subarray(bytes.length - keep);
    },
    flush() {
      emit(held);
      held = Buffer.alloc(0);
    },
  };
}

/** How many of the last bytes could be the beginning of the needle. */
function overlap(bytes: Buffer, needle: Buffer): number {
  for (let length = Math.min(bytes.length, needle.length - 1); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(needle.subarray(0, length))) return length;
  }
  return 0;
}
