/** Turns on the protocol in which a terminal distinguishes more keys, such as Shift+Enter from Enter. */
export interface KeyboardProtocol {
  /** What to write when the chat takes the terminal. */
  enter(): string;
  /** What to write when the chat leaves it. */
  leave(): string;
  /** Takes an answer of the terminal. Returns what to write, or undefined if the sequence is not an answer. */
  answer(sequence: string): string | undefined;
}

const QUERY_KITTY = "\u001b[?u";
const KITTY_ON = "\u001b[>1u";
const KITTY_OFF = "\u001b[<u";
const OTHER_KEYS_ON = "\u001b[>4;1m";
const OTHER_KEYS_OFF = "\u001b[>4;0m";
// biome-ignore lint/suspicious/noControlCharactersInRegex: an answer of the terminal
const KITTY_ANSWER = /^\u001b\[\?\d+u$/;
/** Terminals that would print the query. */
const NO_QUERIES = /^(?:$|dumb|linux|vt|ansi|cons)/;

/**
 * The kitty protocol is turned on only after the terminal has confirmed that it supports it, and not over SSH, because a broken
 * connection would leave it on. tmux has its own protocol.
 */
export function createKeyboardProtocol(env: NodeJS.ProcessEnv): KeyboardProtocol {
  const isRemote = env["SSH_TTY"] !== undefined || env["SSH_CONNECTION"] !== undefined;
  const isTmux = env["TMUX"] !== undefined;
  const canQuery = !isRemote && !isTmux && !NO_QUERIES.test(env["TERM"] ?? "");
  let isKitty = false;
  return {
    enter: () => (isTmux ? OTHER_KEYS_ON : canQuery ? QUERY_KITTY : ""),
    leave() {
      const text = isTmux ? OTHER_KEYS_OFF : isKitty ? KITTY_OFF : "";
      isKitty = false;
      return text;
    },
    answer(sequence) {
      if (!KITTY_ANSWER.test(sequence)) return undefined;
      if (!canQuery || isKitty) return "";
      isKitty = true;
      return KITTY_ON;
    },
  };
}
