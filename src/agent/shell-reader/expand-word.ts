import type { Meter } from "./meter.ts";
import { type Scope, UNKNOWN } from "./scope.ts";
import type { Piece, Script, Word } from "./syntax.ts";

export interface Expansion {
  /** The words that one written word becomes: none for an empty variable, several for braces and lists. */
  readonly fields: readonly string[];
  /** Whether there are more than were listed. */
  readonly isCut: boolean;
}

export interface Expander {
  readonly scope: Scope;
  readonly meter: Meter;
  /** What a command substitution prints, if its text tells. */
  readonly printedBy: (script: Script) => string | undefined;
}

type Part = Piece | { readonly kind: "choice"; readonly options: readonly (readonly Part[])[] };

const MAX_FIELDS = 1_024;

/**
 * Expands a word the way a shell would, as far as the text tells. A variable with several possible values and a
 * loop's variable give one field for each value. File name patterns stay as they are; what is not known is UNKNOWN.
 */
export function expandWord(word: Word, expander: Expander): Expansion {
  const sequences = combine(parseBraces(word), expander.meter);
  const fields: string[] = [];
  for (const sequence of sequences.slice(0, MAX_FIELDS))
    for (const field of join(sequence, expander)) fields.push(field);
  return {
    fields: fields.slice(0, MAX_FIELDS),
    isCut: Math.max(sequences.length, fields.length) > MAX_FIELDS,
  };
}

/** Turns unquoted `{a,b}` into choices; braces without a partner or a comma stay text. */
function parseBraces(word: Word): readonly Part[] {
  if (!word.some((piece) => piece.kind === "text" && !piece.quoted && piece.text.includes("{"))) return word;
  const parts = word.flatMap((piece) =>
    piece.kind === "text" && !piece.quoted ? (piece.text.match(/[{},]|[^{},]+/g) ?? []).map(text) : [piece],
  );
  const marks = findChoices(parts);
  const open: Part[][][] = [];
  let options: Part[][] = [[]];
  for (const [index, part] of parts.entries()) {
    const mark = marks.get(index);
    if (mark === "{") {
      open.push(options);
      options = [[]];
    } else if (mark === ",") options.push([]);
    else if (mark === "}") {
      const choice: Part = { kind: "choice", options };
      options = open.pop() ?? [[]];
      options.at(-1)?.push(choice);
    } else options.at(-1)?.push(part);
  }
  return options[0] ?? [];
}

/** Which of the parts are braces and commas of a choice. */
function findChoices(parts: readonly Piece[]): Map<number, "{" | "," | "}"> {
  const marks = new Map<number, "{" | "," | "}">();
  const open: { readonly at: number; readonly commas: number[] }[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.kind !== "text" || part.quoted) continue;
    if (part.text === "{") open.push({ at: index, commas: [] });
    else if (part.text === ",") open.at(-1)?.commas.push(index);
    else if (part.text === "}") {
      const brace = open.pop();
      if (!brace || brace.commas.length === 0) continue;
      marks.set(brace.at, "{").set(index, "}");
      for (const comma of brace.commas) marks.set(comma, ",");
    }
  }
  return marks;
}

function text(value: string): Piece {
  return { kind: "text", text: value, quoted: false };
}

/** Every choice taken once, up to one more than MAX_FIELDS sequences. */
function combine(parts: readonly Part[], meter: Meter): Piece[][] {
  let sequences: Piece[][] = [[]];
  for (const part of parts) {
    meter.step(sequences.length);
    if (part.kind !== "choice") {
      for (const sequence of sequences) sequence.push(part);
      continue;
    }
    const tails = meter.within(() => part.options.flatMap((option) => combine(option, meter)));
    const next: Piece[][] = [];
    for (const sequence of sequences)
      for (const tail of tails) {
        if (next.length > MAX_FIELDS) break;
        meter.step(sequence.length + tail.length);
        next.push([...sequence, ...tail]);
      }
    sequences = next;
  }
  return sequences;
}

/** Joins the values of pieces; an unquoted value is split at its blanks. */
function join(sequence: readonly Piece[], expander: Expander): string[] {
  const first = sequence[0];
  const pieces =
    first?.kind === "text" && !first.quoted ? withoutTilde(sequence, first.text, expander.scope) : sequence;
  const done: string[] = [];
  let heads: string[] = [""];
  let isWord = false;
  for (const piece of pieces) {
    const quoted = !("quoted" in piece) || piece.quoted;
    const values = valuesOf(piece, expander);
    isWord ||= quoted || values.some((value) => /\S/.test(value));
    const splits = !quoted && piece.kind !== "text";
    const next: string[] = [];
    for (const head of heads)
      for (const value of values) {
        if (next.length >= MAX_FIELDS) break;
        expander.meter.step(1 + value.length);
        const fields = splits ? value.split(/[ \t\n]+/) : [value];
        const joined = [head + (fields[0] ?? ""), ...fields.slice(1)];
        next.push(joined.pop() ?? "");
        for (const field of joined) if (field !== "") done.push(field);
      }
    heads = next;
  }
  if (!isWord) return [];
  const fields = done.concat(heads.filter((head) => head !== "" || done.length === 0));
  for (const field of fields) expander.meter.step(field.length);
  return fields;
}

function withoutTilde(sequence: readonly Piece[], start: string, scope: Scope): readonly Piece[] {
  if (!start.startsWith("~")) return sequence;
  const slash = start.indexOf("/");
  const name = slash < 0 ? start.slice(1) : start.slice(1, slash);
  // `~"x"` is no home: the name must be plain to its end.
  const next = sequence[1];
  if (slash < 0 && next && !(next.kind === "text" && !next.quoted && next.text.startsWith("/")))
    return sequence;
  const rest: Piece = { kind: "text", text: slash < 0 ? "" : start.slice(slash), quoted: true };
  return [{ kind: "text", text: homeOf(name, scope), quoted: true }, rest, ...sequence.slice(1)];
}

function homeOf(name: string, scope: Scope): string {
  if (name === "" || scope.valuesOf("USER")?.includes(name)) return scope.valuesOf("HOME")?.[0] ?? UNKNOWN;
  if (name === "+") return scope.cwd ?? UNKNOWN;
  if (name === "root") return "/root";
  return /^[a-z_][\w.-]*$/i.test(name) ? `/home/${name}` : UNKNOWN;
}

function valuesOf(piece: Piece, expander: Expander): readonly string[] {
  switch (piece.kind) {
    case "text":
      return [piece.text];
    case "variable":
      return variableValues(piece, expander);
    case "substitution":
      return [expander.meter.within(() => expander.printedBy(piece.script))?.replace(/\n+$/, "") ?? UNKNOWN];
    case "process":
    case "unknown":
      return [UNKNOWN];
  }
}

function variableValues(piece: Piece & { kind: "variable" }, expander: Expander): readonly string[] {
  const known = expander.scope.valuesOf(piece.name);
  if (piece.operator === "" || piece.operator === "?") return known ?? [UNKNOWN];
  const operand = expander.meter.within(() => join(piece.operand, expander)).join(" ");
  if (piece.operator === "+") return [operand];
  const set = known?.filter((value) => value !== "") ?? [];
  return set.length > 0 ? set : [operand];
}
