/** One variable of a `.env` file with its line. */
export interface EnvEntry {
  readonly name: string;
  readonly value: string;
  readonly line: number;
}

export interface EnvFile {
  readonly entries: readonly EnvEntry[];
  /** The numbers of invalid lines. Their text is not kept, because it may contain a secret. */
  readonly badLines: readonly number[];
}

interface Span extends EnvEntry {
  readonly start: number;
  readonly end: number;
}

// Quoted values may span lines, as private keys do. Each pattern is anchored and unambiguous, so scanning takes linear time.
const BLANK = /[ \t]*(#[^\n]*)?\r?(\n|$)/y;
const NAME = /[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/y;
const SINGLE = /'([^']*)'[ \t]*(#[^\n]*)?\r?(\n|$)/y;
const DOUBLE = /"((?:[^"\\]|\\[\s\S])*)"[ \t]*(#[^\n]*)?\r?(\n|$)/y;
const REST = /[^\n]*(\n|$)/y;

/** Parses `.env` text: comments, `export`, verbatim single quotes, double quotes with escapes. Expands nothing. */
export function parseEnvFile(text: string): EnvFile {
  const badLines: number[] = [];
  return { entries: scan(text, badLines), badLines };
}

/** Sets `name` to `value`, or removes it for undefined, and keeps every other byte of the text. */
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
  if (/^["']/.test(rest)) return undefined; // unclosed quote
  const comment = rest.search(/(^|[ \t])#/);
  return (comment === -1 ? rest : rest.slice(0, comment)).trimEnd();
}

const ESCAPES: Record<string, string> = { n: "\n", r: "\r", t: "\t" };

function quote(value: string): string {
  if (/^[A-Za-z0-9_./:@%+,-]*$/.test(value)) return value;
  if (!value.includes("'")) return `'${value}'`;
  return `"${value.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r")}"`;
}
