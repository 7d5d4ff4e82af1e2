/** One variable of a `.env` file and where it stands. */
export interface EnvEntry {
  readonly name: string;
  readonly value: string;
  readonly line: number;
}

export interface EnvFile {
  readonly entries: readonly EnvEntry[];
  /** Lines that are neither empty, a comment nor NAME=value. Their text may hold a secret, so only the number is kept. */
  readonly badLines: readonly number[];
}

interface Span extends EnvEntry {
  readonly start: number;
  readonly end: number;
}

// Values may span lines inside quotes (private keys do). Each pattern is anchored and unambiguous: scanning is linear.
const BLANK = /[ \t]*(#[^\n]*)?\r?(\n|$)/y;
const NAME = /[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/y;
const SINGLE = /'([^']*)'[ \t]*(#[^\n]*)?\r?(\n|$)/y;
const DOUBLE = /"((?:[^"\\]|\\[\s\S])*)"[ \t]*(#[^\n]*)?\r?(\n|$)/y;
const REST = /[^\n]*(\n|$)/y;

/** Reads `.env` text: comments, `export`, single quotes verbatim, double quotes with escapes, nothing expanded. */
export function parseEnvFile(text: string): EnvFile {
  const badLines: number[] = [];
  const entries = scan(text, badLines).map(({ name, value, line }) => ({ name, value, line }));
  return { entries, badLines };
}

/** The text with `name` set to `value` (or removed, for undefined); everything else stays as it was, byte for byte. */
export function editEnvFile(text: string, name: string, value: string | undefined): string {
  const spans = scan(text, []).filter((span) => span.name === name);
  let edited = text;
  const last = spans.at(-1);
  for (const span of spans.toReversed()) {
    const replacement = span === last && value !== undefined ? `${name}=${quote(value)}\n` : "";
    edited = edited.slice(0, span.start) + replacement + edited.slice(span.end);
  }
  if (last !== undefined || value === undefined) return edited;
  const separator = edited === "" || edited.endsWith("\n") ? "" : "\n";
  return `${edited}${separator}${name}=${quote(value)}\n`;
}

function scan(text: string, badLines: number[]): Span[] {
  const spans: Span[] = [];
  let position = 0;
  let line = 1;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = position;
    const match = pattern.exec(text);
    if (!match) return undefined;
    position += match[0].length;
    return match;
  };
  while (position < text.length) {
    const start = position;
    if (!take(BLANK)) {
      const name = take(NAME)?.[1];
      const value = name === undefined ? undefined : takeValue(take);
      if (name === undefined || value === undefined) {
        badLines.push(line);
        position = start;
        take(REST);
      } else {
        spans.push({ name, value, line, start, end: position });
      }
    }
    line += text.slice(start, position).split("\n").length - 1;
  }
  return spans;
}

function takeValue(take: (pattern: RegExp) => RegExpExecArray | undefined): string | undefined {
  const single = take(SINGLE);
  if (single) return single[1];
  const double = take(DOUBLE);
  if (double)
    return (double[1] ?? "").replace(/\\([\s\S])/g, (_, letter: string) => ESCAPES[letter] ?? letter);
  const rest = (take(REST)?.[0] ?? "").replace(/\r?\n$/, "");
  if (/^["']/.test(rest)) return undefined; // a quote that nothing closes
  const comment = rest.search(/(^|[ \t])#/);
  return (comment === -1 ? rest : rest.slice(0, comment)).trimEnd();
}

const ESCAPES: Record<string, string> = { n: "\n", r: "\r", t: "\t" };

function quote(value: string): string {
  if (/^[A-Za-z0-9_./:@%+,-]*$/.test(value)) return value;
  if (!value.includes("'")) return `'${value}'`;
  return `"${value.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r")}"`;
}
