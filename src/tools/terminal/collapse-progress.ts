import { stripEscapes } from "./strip-escapes.ts";

const CR = 13;
const LF = 10;
const LONGEST = 4_096; // of a progress line, in bytes
const FEWEST = 3; // states of a line; fewer are not worth a remark

/**
 * Of a progress line that rewrites itself, hands on the last state and says how many were left out. Everything else that has
 * carriage returns in it, such as a file with the line ends of an old Mac, stays as it is. Holds a few states at most.
 */
export function createProgressCollapser(): {
  /** What is certain now. */
  take(bytes: Uint8Array): Uint8Array;
  /** The rest. */
  end(): Uint8Array;
} {
  let waiting: Buffer = Buffer.alloc(0); // the beginning of a state
  let isTooLong = false; // the state that comes in is no progress line, and its beginning has been handed on
  let before = ""; // carriage returns and blanks in front of the next state
  /** States of one line that are alike; of more than a few only the latest is kept. */
  let alike: State[] = [];
  let count = 0;
  let out: Uint8Array[] = [];

  const hand = (text: string): void => void out.push(Buffer.from(text, "latin1"));
  const settle = (): void => {
    const last = alike.at(-1);
    if (count >= FEWEST && last !== undefined)
      hand(`${alike[0]?.before}${last.bytes} [${count - 1} earlier states of this line are left out]`);
    else for (const state of alike) hand(state.before + state.bytes);
    alike = [];
    count = 0;
  };
  const addState = (bytes: string): void => {
    const isBlank = stripEscapes(bytes).trim() === "";
    if (isBlank || bytes.length > LONGEST) {
      before += bytes;
      if (before.length > LONGEST) endLine();
      return;
    }
    const state = createState(before, bytes);
    before = "";
    const known = alike.at(-1);
    if (known !== undefined && !known.isLike(state)) settle();
    count++;
    if (count > FEWEST) alike.pop();
    alike.push(state);
  };
  const endLine = (): void => {
    settle();
    hand(before);
    before = "";
  };

  function read(bytes: Buffer, isEnd: boolean): void {
    let at = 0;
    for (;;) {
      let nextCr = bytes.indexOf(CR, at);
      // Whole lines need no look, with either line end.
      if (alike.length === 0 && before === "" && !isTooLong) {
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
        hand("\n");
      }
    }
    waiting = Buffer.from(bytes.subarray(at));
    if (!isEnd && waiting.length <= LONGEST) return;
    if (isEnd && !isTooLong) addState(waiting.toString("latin1"));
    endLine();
    if (isEnd && !isTooLong) return;
    out.push(waiting);
    waiting = Buffer.alloc(0);
    isTooLong = true;
  }
  const taken = (): Uint8Array => {
    const all = out.length === 1 && out[0] !== undefined ? out[0] : Buffer.concat(out);
    out = [];
    return all;
  };
  return {
    take(bytes) {
      const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      read(waiting.length === 0 ? given : Buffer.concat([waiting, given]), false);
      return taken();
    },
    end() {
      read(waiting, true);
      return taken();
    },
  };
}

/** The same for a text that is there as a whole. */
export function collapseProgress(text: string): string {
  if (!text.includes("\r")) return text;
  const collapser = createProgressCollapser();
  return Buffer.concat([collapser.take(Buffer.from(text)), collapser.end()]).toString();
}

interface State {
  readonly before: string;
  /** In latin1, so that no byte is lost. */
  readonly bytes: string;
  /** What of it does not change while something goes on; undefined when nothing tells that something does. */
  words(): readonly string[] | undefined;
  isLike(other: State): boolean;
}

function createState(before: string, bytes: string): State {
  let words: readonly string[] | undefined | null = null;
  const self: State = {
    before,
    bytes,
    words() {
      if (words === null) words = wordsOf(Buffer.from(bytes, "latin1").toString());
      return words;
    },
    isLike(other) {
      const mine = self.words();
      const others = mine && other.words();
      if (others === undefined || (mine?.length === 0 && others.length > 0)) return false;
      // The last state may have a word more, such as "done".
      return mine?.every((word, index) => word === others[index]) ?? false;
    },
  };
  return self;
}

/** How far something is: a share, a rate, a bar, a spinner, the times that curl shows. */
const PROGRESS = /\d ?%|[a-z]\/s\b|(?:[\d-]+:[\d-]{2}:[\d-]{2}\s+){2}|\[[=#.\->]*[=#]{2,}|[█-▓━⠁-⣿◐-◓]/iu;
/** So many of so many, and no date. */
const OF_ALL = /(?<![\d/.])\d[\d.]*(?:\/| of )(\d[\d.]*)(?![\d/])/u;
/** Columns of a table rather than a sentence or a long number. */
const TABLE = /\S[;\t]\S|\S,(?!\d{3}(?!\d))\S/u;
const UNITS = new Set(["kib", "mib", "gib", "its", "kbits", "eta"]);

function wordsOf(raw: string): readonly string[] | undefined {
  const text = stripEscapes(raw).trim();
  const [, all] = OF_ALL.exec(text) ?? [];
  if (TABLE.test(text) || (all === undefined && !PROGRESS.test(text))) return undefined;
  const words = text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
  return [...(all === undefined ? [] : [all]), ...words.filter((word) => !UNITS.has(word))];
}
