import { stripEscapes } from "./strip-escapes.ts";

const CR = 13;
const LF = 10;
const MAX_STATE_BYTES = 4_096; // a longer line is not treated as progress
const MIN_STATES = 3; // fewer states of a line are not collapsed

/**
 * Collapses a progress line that rewrites itself into its last state plus the number of omitted states. All other text with
 * carriage returns, such as a file with classic Mac line endings, stays unchanged. Buffers a few states at most.
 */
export function createProgressCollapser(): {
  /** Accepts the next bytes and returns the output that is final so far. */
  take(bytes: Uint8Array): Uint8Array;
  /** Returns the remaining output. */
  end(): Uint8Array;
} {
  let pending: Buffer = Buffer.alloc(0); // start of an incomplete state
  let isTooLong = false; // the current state is too long for progress, and its start was already output
  let before = ""; // carriage returns and whitespace before the next state
  /** Similar states of one line: the first ones and, once there are more, only the latest. */
  let similar: State[] = [];
  let count = 0;
  let out: Uint8Array[] = [];

  const emit = (text: string): void => void out.push(Buffer.from(text, "latin1"));
  const flushStates = (): void => {
    const last = similar.at(-1);
    if (count >= MIN_STATES && last !== undefined)
      emit(`${similar[0]?.before}${last.bytes} [${count - 1} earlier states of this line are omitted]`);
    else for (const state of similar) emit(state.before + state.bytes);
    similar = [];
    count = 0;
  };
  const addState = (bytes: string): void => {
    const isBlank = stripEscapes(bytes).trim() === "";
    if (isBlank || bytes.length > MAX_STATE_BYTES) {
      before += bytes;
      if (before.length > MAX_STATE_BYTES) endLine();
      return;
    }
    const state = { before, bytes, words: wordsOf(Buffer.from(bytes, "latin1").toString()) };
    before = "";
    const known = similar.at(-1);
    if (known !== undefined && !isNext(known, state)) flushStates();
    count++;
    if (count > MIN_STATES) similar.pop();
    similar.push(state);
  };
  const endLine = (): void => {
    flushStates();
    emit(before);
    before = "";
  };

  function read(bytes: Buffer, isEnd: boolean): void {
    let at = 0;
    for (;;) {
      let nextCr = bytes.indexOf(CR, at);
      // Fast path: complete lines without a bare CR are passed through.
      if (similar.length === 0 && before === "" && !isTooLong) {
        while (nextCr !== -1 && bytes[nextCr + 1] === LF) nextCr = bytes.indexOf(CR, nextCr + 2);
        const plainEnd = bytes.lastIndexOf(LF, nextCr === -1 ? undefined : nextCr) + 1;
        if (plainEnd > at) {
          out.push(bytes.subarray(at, plainEnd));
          at = plainEnd;
        }
      }
      const nextLf = bytes.subarray(at, nextCr === -1 ? undefined : nextCr).indexOf(LF);
      const end = nextLf === -1 ? nextCr : at + nextLf;
      if (end === -1) break;
      if (isTooLong) out.push(bytes.subarray(at, end));
      else addState(bytes.toString("latin1", at, end));
      isTooLong = false;
      at = end + 1;
      if (bytes[end] === CR) before += "\r";
      else {
        endLine();
        emit("\n");
      }
    }
    pending = Buffer.from(bytes.subarray(at));
    if (!isEnd && pending.length <= MAX_STATE_BYTES) return;
    if (isEnd && !isTooLong) addState(pending.toString("latin1"));
    endLine();
    if (isEnd && !isTooLong) return;
    out.push(pending);
    pending = Buffer.alloc(0);
    isTooLong = true;
  }
  const takeOutput = (): Uint8Array => {
    const all = out.length === 1 && out[0] !== undefined ? out[0] : Buffer.concat(out);
    out = [];
    return all;
  };
  return {
    take(bytes) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      read(pending.length === 0 ? buffer : Buffer.concat([pending, buffer]), false);
      return takeOutput();
    },
    end() {
      read(pending, true);
      return takeOutput();
    },
  };
}

export function collapseProgress(text: string): string {
  if (!text.includes("\r")) return text;
  const collapser = createProgressCollapser();
  return Buffer.concat([collapser.take(Buffer.from(text)), collapser.end()]).toString();
}

interface State {
  readonly before: string;
  /** Decoded as latin1, so that no byte is lost. */
  readonly bytes: string;
  /** The words that stay the same between states; undefined when the text does not look like progress. */
  readonly words: readonly string[] | undefined;
}

/** Whether a state may follow another one. The last state may have an extra word, such as "done". */
function isNext({ words: earlier }: State, { words: later }: State): boolean {
  if (earlier === undefined || later === undefined || (earlier.length === 0 && later.length > 0))
    return false;
  return earlier.every((word, index) => word === later[index]);
}

/** Signs of progress: a percentage, a rate, a bar, a spinner, the times that curl shows. */
const PROGRESS = /\d ?%|[a-z]\/s\b|(?:[\d-]+:[\d-]{2}:[\d-]{2}\s+){2}|\[[=#.\->]*[=#]{2,}|[█-▓━⠁-⣿◐-◓]/iu;
/** `3/9` or `3 of 9`, but not a date. */
const COUNT_OF_TOTAL = /(?<![\d/.])\d[\d.]*(?:\/| of )(\d[\d.]*)(?![\d/])/u;
/** Separated columns of a table, not a sentence or a long number. */
const TABLE = /\S[;\t]\S|\S,(?!\d{3}(?!\d))\S/u;
const UNITS = new Set(["kib", "mib", "gib", "its", "kbits", "eta"]);

function wordsOf(raw: string): readonly string[] | undefined {
  const text = stripEscapes(raw).trim();
  const [, all] = COUNT_OF_TOTAL.exec(text) ?? [];
  if (TABLE.test(text) || (all === undefined && !PROGRESS.test(text))) return undefined;
  const words = text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
  return [...(all === undefined ? [] : [all]), ...words.filter((word) => !UNITS.has(word))];
}
