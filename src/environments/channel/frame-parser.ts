const TOKEN_LENGTH = 32;
const MAX_ANSWER_BYTES = 512;
const MAX_STATE_BYTES = 1024 * 1024;

/** The parts of a channel's output stream. */
export interface FrameEvents {
  output(bytes: Uint8Array): void;
  answer(token: string, letter: string, fields: string): void;
  /** The shell state after a command; undefined if it was too large. */
  state(token: string, text: string | undefined): void;
}

export type FrameParser = ReturnType<typeof createFrameParser>;

/**
 * Extracts the answers of the driver from a byte stream; everything else is output. All tokens of a channel begin with the
 * same 16 characters, so that one search finds them.
 */
export function createFrameParser(prefix: string, events: FrameEvents) {
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
  /** The length of the answer at the beginning of the bytes; undefined if more bytes are needed, 0 if there is none. */
  const measureAnswer = (bytes: Buffer): number | undefined => {
    if (bytes.length < TOKEN_LENGTH) return undefined;
    const token = bytes.toString("latin1", 0, TOKEN_LENGTH);
    const kind = kinds.get(token);
    if (kind === undefined) return 0;
    if (kind === "state") {
      toggle(token);
      return TOKEN_LENGTH;
    }
    const end = bytes.indexOf(0x3b, TOKEN_LENGTH);
    if (end === -1) return bytes.length > MAX_ANSWER_BYTES ? 0 : undefined;
    events.answer(
      token,
      bytes.toString("latin1", TOKEN_LENGTH, TOKEN_LENGTH + 1),
      bytes.toString("latin1", TOKEN_LENGTH + 1, end),
    );
    return end + 1;
  };

  return {
    /** Registers a token; text with an unregistered token stays output. */
    expect: (token: string, kind: "answers" | "state") => void kinds.set(token, kind),
    forget(token: string): void {
      kinds.delete(token);
      // A command that is killed while it prints its state never prints the closing token; later bytes are output again.
      if (collecting?.token === token) collecting = undefined;
    },
    push(chunk: Buffer): void {
      let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      held = Buffer.alloc(0);
      for (;;) {
        const start = bytes.indexOf(needle);
        if (start === -1) break;
        emit(bytes.subarray(0, start));
        bytes = bytes.subarray(start);
        const length = measureAnswer(bytes);
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
    /** Emits bytes that were held back because they could begin an answer. */
    flush(): void {
      emit(held);
      held = Buffer.alloc(0);
    },
  };
}

/** The number of trailing bytes that could begin the needle. */
function overlap(bytes: Buffer, needle: Buffer): number {
  for (let length = Math.min(bytes.length, needle.length - 1); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(needle.subarray(0, length))) return length;
  }
  return 0;
}
