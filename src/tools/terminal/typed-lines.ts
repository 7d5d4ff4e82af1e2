/** Longer lines are data, not commands. */
const MAX_LINE_CHARS = 10_000;

/** Matches a whole id of a job, or a prefix of at least four hex digits. */
export function matchesId(id: string, prefix = ""): boolean {
  const [, digits] = /^(?:proc_)?([0-9a-f]{4,12})$/.exec(prefix.trim()) ?? [];
  return digits !== undefined && id.startsWith(`proc_${digits}`);
}

/** The line that was typed into each job and is not complete yet, because a command may be typed in pieces. */
export class TypedLines {
  readonly #lines = new Map<string, string>();

  /** The lines that a job would read if this text were typed into it too. */
  lineWith(prefix: string, data: string): string {
    const begun = [...this.#lines].filter(([id]) => matchesId(id, prefix)).map(([, line]) => line);
    return editLine(begun.join("") + data);
  }

  add(id: string, data: string): void {
    const line =
      editLine((this.#lines.get(id) ?? "") + data)
        .split("\n")
        .at(-1) ?? "";
    this.#lines.set(id, line.slice(-MAX_LINE_CHARS));
  }
}

/** The text as a terminal sees it: keys that edit the line are applied, and keys that move the cursor are dropped. */
function editLine(text: string): string {
  const keys: string[] = [];
  const popWhile = (isPart: (key: string) => boolean): void => {
    while (keys.length > 0 && isPart(keys.at(-1) ?? "")) keys.pop();
  };
  for (const key of text.replaceAll("\r", "\n").match(KEYS) ?? []) {
    if (key === "\x7f" || key === "\b") {
      if (keys.at(-1) !== "\n") keys.pop();
    } else if (key === "\x03" || key === "\x15") popWhile((one) => one !== "\n");
    else if (key === "\x17") {
      popWhile((one) => one === " " || one === "\t");
      popWhile((one) => /\S/.test(one));
    } else if (!key.startsWith("\x1b")) keys.push(key);
  }
  return keys.join("");
}

/** One key, or the sequence of characters that an arrow or function key sends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters
const KEYS = /\x1b(?:[[O][\d;]*[A-Za-z~])?|[\s\S]/g;
