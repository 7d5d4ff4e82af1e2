import { parse } from "unbash";
import { LimitReached, type Meter } from "./meter.ts";
import { MeteredText } from "./metered-text.ts";
import type { Script } from "./syntax.ts";
import { SPLIT_NAME, TreeConverter } from "./tree-converter.ts";

export interface ParsedShell {
  /** The commands of the text; may be incomplete if the text is malformed. */
  readonly script: Script;
  /** Why the commands cannot be determined: a quote or substitution is not closed, or a name is split across lines. */
  readonly malformed: string | undefined;
}

/** The parser compares each here-document with all pending ones, so their number must be bounded. */
const MAX_HERE_DOCUMENTS = 10_000;
const LEADING_KEYWORDS = /^(?:\s*(?:if|then|elif|else|while|until|do|function|time|coproc|!)(?=\s))+/;

/** Parses bash text into commands without running or expanding anything. Throws only {@link LimitReached}. */
export function parseShell(text: string, meter: Meter): ParsedShell {
  meter.step(text.length);
  if (text.split("<<", MAX_HERE_DOCUMENTS + 2).length > MAX_HERE_DOCUMENTS + 1)
    throw new LimitReached(`it has more than ${MAX_HERE_DOCUMENTS.toLocaleString("en")} \`<<\``);
  const reading = readTree(text, meter);
  if (reading.malformed !== undefined || !reading.hasErrors) return reading;
  // The parser rejects some texts that bash or other shells accept, and may lose commands when it recovers from errors.
  // Some shells need no space after the brace of `f(){`.
  const spaced = readTree(text.replace(/\([ \t]*\)[ \t]*\{/g, "() { "), meter);
  // Every part of a text with errors counts as a command: finding a spurious command is safe, missing one is not.
  const parts = spaced.hasErrors ? text.split(/[;&|(){}`\n]+/) : [];
  const readings = parts.map((part) => readTree(part.replace(LEADING_KEYWORDS, ""), meter));
  const pipelines = [reading, spaced, ...readings].flatMap(({ script }) => script.pipelines);
  return { script: { pipelines }, malformed: undefined };
}

function readTree(text: string, meter: Meter): ParsedShell & { readonly hasErrors: boolean } {
  const reader = new TreeConverter(
    (source) => parse(new MeteredText(source, meter) as unknown as string),
    meter,
  );
  try {
    const script = reader.read(text);
    const malformed = reader.errors.find(
      (message) => message.startsWith("unterminated ") || message === SPLIT_NAME,
    );
    return {
      script,
      malformed: malformed && `there is an ${malformed}`,
      hasErrors: reader.errors.length > 0,
    };
  } catch (error) {
    // The parser bounds most of its recursion, but not the recursion over a chain of function heads.
    if (error instanceof RangeError) throw new LimitReached("it nests constructs too deeply");
    throw error;
  }
}
