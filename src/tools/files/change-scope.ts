import type { ChangeScope } from "../../environments/files/change-files.ts";
import { findMarks } from "../../lib/redact/mark.ts";
import type { ToolParts } from "../workspace.ts";
import { credentialRefusal, holdsCredentials } from "./credential-files.ts";
import { holdsSettings } from "./settings-file.ts";

/** What changes of the model may do, and what it gets to see of a file that it changes. */
export function changeScope({ home, redact }: Pick<ToolParts, "home" | "redact">): Required<ChangeScope> {
  return {
    within: undefined,
    judge: (real) => (holdsCredentials(real, home) ? credentialRefusal(real) : undefined),
    judgeText(real, before = "", after) {
      const mark = foreignMark(before, after, (text) => redact(text));
      return mark === undefined
        ? undefined
        : `The new text of ${real} has the redaction mark ${mark} in it. It is Hermes' placeholder for a secret that you were not shown, which would be lost. Leave such lines as they are: use patch for the other lines.`;
    },
    show: (real, text) => redact(text, { code: !holdsSettings(real) }),
  };
}

/**
 * A mark in the new text that may stand for a secret. A file about redaction holds marks of its own: those lines may stay, and
 * may be rewritten as long as no mark is added and nothing in the file is shown as the same mark.
 */
function foreignMark(before: string, after: string, redact: (text: string) => string): string | undefined {
  const wanted = marksIn(after);
  if (wanted.length === 0) return undefined;
  const own = marksIn(before);
  const shown = own.length === 0 ? [] : marksIn(redact(before));
  const count = (marks: readonly string[], mark: string) => marks.filter((one) => one === mark).length;
  const isFree = (mark: string): boolean =>
    count(own, mark) === count(shown, mark) && count(wanted, mark) <= count(own, mark);
  const suspects = new Set([...new Set(wanted)].filter((mark) => !isFree(mark)));
  const held = new Map<string, number>();
  for (const line of before.split(LINE_END)) held.set(line, (held.get(line) ?? 0) + 1);
  for (const line of after.split(LINE_END)) {
    const left = held.get(line) ?? 0;
    held.set(line, left - 1);
    const mark = left > 0 ? undefined : marksIn(line).find((one) => suspects.has(one));
    if (mark !== undefined) return mark;
  }
  return undefined;
}

const LINE_END = /\r?\n/;

function marksIn(text: string): string[] {
  return findMarks(text).map(({ start, end }) => text.slice(start, end));
}
