import { textWidth } from "../../terminal/fit-text.ts";
import type { KeyAction } from "../input/input-line.ts";
import { type KeyBindings, typedText } from "../input/key-bindings.ts";

/** One line of input that is echoed as it is typed and never redrawn. */
export interface PlainLine {
  press(sequence: string): KeyAction | undefined;
  paste(text: string): void;
  text(): string;
  set(text: string): void;
}

export interface PlainLineParts {
  keys(): KeyBindings;
  echo(text: string): void;
  now(): number;
  onSubmit(text: string, startedTypingAt: number): void;
}

/** The last character with its combining marks. An emoji that consists of several characters is deleted one by one. */
const LAST_CHARACTER = /.\p{M}*$/su;
const PASSED_ON = new Set<string>(["stop", "interrupt", "suspend", "editor", "mode", "output"]);

export function createPlainLine({ keys, echo, now, onSubmit }: PlainLineParts): PlainLine {
  let text = "";
  let startedTypingAt = 0;
  let hasLabel = false; // whether the line on the terminal begins with `you:`
  const add = (typed: string): void => {
    if (text === "") {
      startedTypingAt = now();
      if (!hasLabel) echo("you: ");
      hasLabel = true;
    }
    text += typed;
    echo(typed.replaceAll("\n", "\r\n"));
  };
  const submit = (): void => {
    // A backslash at the end continues the message on the next line.
    if (text.endsWith("\\")) {
      text = `${text.slice(0, -1)}\n`;
      echo("\r\n");
      return;
    }
    const message = text;
    text = "";
    hasLabel = false;
    echo("\r\n");
    onSubmit(message, startedTypingAt);
  };
  /** Erases the text after `kept` on the terminal, which can do so only in its last line. */
  const erase = (kept: string): void => {
    const width = textWidth(text.slice(kept.length));
    text = kept;
    echo("\b \b".repeat(width));
  };
  /** The text without what `end` matches in its last line. */
  const keepUpTo = (end: RegExp): string => {
    const start = text.lastIndexOf("\n") + 1;
    return text.slice(0, start) + text.slice(start).replace(end, "");
  };
  return {
    press(sequence) {
      const name = keys().read(sequence);
      if (name === "send") submit();
      else if (name === "new_line") add("\n");
      else if (name === "leave") return text === "" ? "leave" : undefined;
      else if (name === "delete_left") erase(keepUpTo(LAST_CHARACTER));
      else if (name === "delete_word_left") erase(keepUpTo(/\S*\s*$/));
      else if (name === "delete_to_start") erase(keepUpTo(/.*$/));
      else if (name !== undefined) return PASSED_ON.has(name) ? (name as KeyAction) : undefined;
      else {
        const typed = typedText(sequence);
        if (typed !== undefined) add(typed);
      }
      return undefined;
    },
    paste: add,
    text: () => text,
    set(next) {
      text = next;
      hasLabel = next !== "";
      startedTypingAt = now();
    },
  };
}
