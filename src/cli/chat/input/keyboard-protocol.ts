/** Asks terminals to tell more keys apart, such as Shift+Enter from Enter. */
export interface KeyboardProtocol {
  /** What to write when the terminal becomes ours. */
  enter(): string;
  /** What to write when it is given back. */
  leave(): string;
  /** Takes an answer of the terminal. Returns what to write, or undefined if the sequence is not an answer. */
  answer(sequence: string): string | undefined;
}

const ASK_KITTY = "\u001b[?u";
const KITTY_ON = "\u001b[>1u";
const KITTY_OFF = "\u001b[<u";
const OTHER_KEYS_ON = "\u001b[>4;1m";
const OTHER_KEYS_OFF = "\u001b[>4;0m";
// biome-ignore lint/suspicious/noControlCharactersInRegex: an answer of the terminal
const KITTY_ANSWER = /^\u001b\[\?\d+u$/;
/** Terminals that would print the question. */
const NO_QUESTIONS = /^(?:$|dumb|linux|vt|ansi|cons)/;

/**
 * The kitty protocol is turned on only after the terminal has answered that it knows it, and not over SSH, because a connection
 * that breaks would leave it on. tmux has a form of its own.
 */
export function createKeyboardProtocol(env: NodeJS.ProcessEnv): KeyboardProtocol {
  const isRemote = env["SSH_TTY"] !== undefined || env["SSH_CONNECTION"] !== undefined;
  const isTmux = env["TMUX"] !== undefined;
  const canAsk = !isRemote && !isTmux && !NO_QUESTIONS.test(env["TERM"] ?? "");
  let isKitty = false;
  return {
    enter: () => (isTmux ? OTHER_KEYS_ON : canAsk ? ASK_KITTY : ""),
    leave() {
      const text = isTmux ? OTHER_KEYS_OFF : isKitty ? KITTY_OFF : "";
      isKitty = false;
      return text;
    },
    answer(sequence) {
      if (!KITTY_ANSWER.test(sequence)) return undefined;
      if (!canAsk || isKitty) return "";
      isKitty = true;
      return KITTY_ON;
    },
  };
}
