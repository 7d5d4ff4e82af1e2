import { StringDecoder } from "node:string_decoder";
import { StdinBuffer } from "@earendil-works/pi-tui";

/** Turns the bytes of a terminal into keys and pastes. */
export interface TerminalInput extends Disposable {
  push(data: Buffer | string): void;
  /**
   * Call after raw mode was turned on, at the start or after another program has used the terminal. Text that was typed before
   * arrives first, and the terminal has turned the Enter in it into a line feed.
   */
  entered(): void;
}

export interface TerminalInputParts {
  /** One key, as the terminal sends it. */
  onKey(sequence: string): void;
  onPaste(text: string): void;
  /** Whether the terminal marks pastes. If not, very fast typing counts as a paste. */
  readonly marksPastes: boolean;
  now(): number;
}

/** No person types two characters and Enter this fast. */
const BURST_MS = 8;
/** The next piece of an unmarked paste follows within this time. */
const MORE_WITHIN_MS = 30;
const PASTE_ENDS_AFTER_MS = 1_000;
const PASTE_END = "\u001b[201~";

export function createTerminalInput({ onKey, onPaste, marksPastes, now }: TerminalInputParts): TerminalInput {
  const buffer = new StdinBuffer();
  const hidden = buffer as unknown as { readonly pasteMode: boolean }; // the version of the library is pinned
  const decoder = new StringDecoder("utf8");
  let isTypedAhead = false;
  let half = "";
  let typedAt: readonly number[] = [];
  let ending: NodeJS.Timeout | undefined;
  let pasted = ""; // an unmarked paste that may not be complete
  let gathering: NodeJS.Timeout | undefined;
  let heldEnter: NodeJS.Timeout | undefined; // an Enter right after other characters, held until it is clear what follows
  let hasBrokenLine = false; // whether an Enter of this burst was a line break
  let entering: NodeJS.Immediate | undefined;

  buffer.on("data", (sequence) => {
    // Characters beyond 16 bits arrive in two halves.
    const whole = half + sequence;
    half = /^[\ud800-\udbff]$/.test(whole) ? whole : "";
    if (half !== "") return;
    breakLine();
    const time = now();
    const [first] = typedAt;
    const isBurst = !marksPastes && !isTypedAhead && typedAt.length === 2 && time - (first ?? 0) <= BURST_MS;
    typedAt = [...typedAt, time].slice(-2);
    if (!isBurst) hasBrokenLine = false;
    if (!isBurst || whole !== "\r") onKey(whole);
    else if (hasBrokenLine) onKey("\n");
    else heldEnter = setTimeout(sendLine, MORE_WITHIN_MS);
  });
  /** More text follows a held Enter: both belong to a paste. */
  function breakLine(): void {
    if (heldEnter === undefined) return;
    clearTimeout(heldEnter);
    heldEnter = undefined;
    hasBrokenLine = true;
    onKey("\n");
  }
  /** Nothing follows a held Enter: a program has written a whole line at once, as Emacs and expect do. */
  function sendLine(): void {
    heldEnter = undefined;
    onKey("\r");
  }
  buffer.on("paste", (text) => onPaste(withoutControls(text)));
  function endPaste(): void {
    clearTimeout(gathering);
    const text = pasted;
    pasted = "";
    if (text !== "") onPaste(withoutControls(text));
  }

  return {
    push(data) {
      clearTimeout(ending);
      const text = typeof data === "string" ? data : decoder.write(data);
      if (text === "") return; // the first bytes of a character
      breakLine();
      const isInside = hidden.pasteMode || buffer.getBuffer() !== ""; // of a marked paste or an escape sequence
      const isPaste = pasted === "" ? isUnmarkedPaste(text) : !text.includes("\u001b");
      if (isPaste && !isInside && !isTypedAhead) {
        pasted += text;
        clearTimeout(gathering);
        gathering = setTimeout(endPaste, MORE_WITHIN_MS);
        return;
      }
      endPaste();
      buffer.process(isTypedAhead && !text.includes("\u001b") ? text.replaceAll("\n", "\r") : text);
      // Without its end mark, a paste would swallow every key that follows.
      if (hidden.pasteMode) ending = setTimeout(() => buffer.process(PASTE_END), PASTE_ENDS_AFTER_MS);
    },
    entered() {
      isTypedAhead = true;
      clearImmediate(entering);
      // Text that was typed before is read between the two immediates.
      entering = setImmediate(() => {
        entering = setImmediate(() => {
          isTypedAhead = false;
        });
      });
    },
    [Symbol.dispose]() {
      clearTimeout(ending);
      clearTimeout(gathering);
      clearTimeout(heldEnter);
      clearImmediate(entering);
      buffer.destroy();
    },
  };
}

/**
 * Whether the text of one read is a paste: it has a line break with text before and after it, which no person types that fast,
 * and no control characters except Tab.
 */
function isUnmarkedPaste(text: string): boolean {
  return /[^\r\n][\r\n]+[^\r\n]/.test(text) && !/(?![\t\r\n])\p{Cc}/u.test(text);
}

/** Keeps the line breaks and tabs of a pasted text, and removes all other control characters. */
function withoutControls(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/(?![\n\t])\p{Cc}/gu, "");
}
