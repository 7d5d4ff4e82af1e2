import type { ChangeScope } from "../../environments/files/change-files.ts";
import { findMarks } from "../../lib/redact/redaction-mark.ts";
import type { ToolParts } from "../tool-parts.ts";
import { isSourceCode } from "./source-code.ts";

/** The limits on the model's changes, and the redaction of the files that it changes. */
export function createChangeScope({
  guards,
  redact,
}: Pick<ToolParts, "guards" | "redact">): Required<Omit<ChangeScope, "digestSeen">> {
  return {
    onlyInFolder: undefined,
    findRefusal: guards.write,
    findTextRefusal(real, before = "", after) {
      const mark = findForeignMark(before, after, (text) => redact(text));
      return mark === undefined
        ? undefined
        : `The new text of ${real} contains the redaction mark ${mark}. The mark is Hermes' placeholder for a secret that you were not shown, and writing it would destroy the secret. Leave such lines unchanged: use patch for the other lines.`;
    },
    redact: (real, text) => redact(text, { code: isSourceCode(real) }),
  };
}

/**
 * Finds a mark in the new text that may stand for a secret. A file may contain literal marks, for example a file about
 * redaction: such lines may stay, and may be changed if that adds no mark and no secret is displayed as the same mark.
 */
function findForeignMark(
  before: string,
  after: string,
  redact: (text: string) => string,
): string | undefined {
  const wanted = marksIn(after);
  if (wanted.length === 0) return undefined;
  const own = marksIn(before);
  const shown = own.length === 0 ? [] : marksIn(redact(before));
  const count = (marks: readonly string[], mark: string) => marks.filter((one) => one === mark).length;
  const isLiteral = (mark: string): boolean =>
    count(own, mark) === count(shown, mark) && count(wanted, mark) <= count(own, mark);
  const suspects = new Set([...new Set(wanted)].filter((mark) => !isLiteral(mark)));
  const unchanged = new Map<string, number>();
  for (const line of before.split(LINE_END)) unchanged.set(line, (unchanged.get(line) ?? 0) + 1);
  for (const line of after.split(LINE_END)) {
    const left = unchanged.get(line) ?? 0;
    unchanged.set(line, left - 1);
    const mark = left > 0 ? undefined : marksIn(line).find((one) => suspects.has(one));
    if (mark !== undefined) return mark;
  }
  return undefined;
}

const LINE_END = /\r?\n/;

function marksIn(text: string): string[] {
  return findMarks(text).map(({ start, end }) => text.slice(start, end));
}
