import type { Meter } from "../meter.ts";
import { type Scope, UNKNOWN } from "../scope.ts";
import type { Change, Piece, Script, Word } from "../syntax.ts";
import { changeCase, removePart, replacePart, sliceValue } from "./parameter-operators.ts";

export interface Expansion {
  /** The fields that a word expands to: none for an empty variable, several for braces and lists. */
  readonly fields: readonly string[];
  /** Whether the word expands to more fields than are listed. */
  readonly isCut: boolean;
}

export interface Expander {
  readonly scope: Scope;
  readonly meter: Meter;
  /** Returns the output of a command substitution, if it can be determined from the text. */
  readonly printedBy: (script: Script) => string | undefined;
}

type Part = Piece | { readonly kind: "choice"; readonly options: readonly (readonly Part[])[] };

const MAX_FIELDS = 1_024;

/**
 * Expands a word as a shell would, as far as the text determines the result. A loop variable and a variable with
 * several possible values give one field per value. Glob patterns are not expanded; unknown text becomes UNKNOWN.
 */
export function expandWord(word: Word, expander: Expander): Expansion {
  const [only] = word;
  // Fast path: most words are one plain text.
  if (word.length === 1 && only?.kind === "text" && (only.quoted || !/[{~]/.test(only.text))) {
    expander.meter.step(2 + 2 * only.text.length);
    return { fields: only.quoted || /\S/.test(only.text) ? [only.text] : [], isCut: false };
  }
  const sequences = combine(parseBraces(word), expander.meter);
  const fields: string[] = [];
  for (const sequence of sequences.slice(0, MAX_FIELDS))
    for (const field of join(sequence, expander)) fields.push(field);
  return {
    fields: fields.slice(0, MAX_FIELDS),
    isCut: Math.max(sequences.length, fields.length) > MAX_FIELDS,
  };
}

/** Turns unquoted `{a,b}` into choices. Unmatched braces and braces without a comma stay text. */
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

/** Finds the parts that are braces and commas of a choice. */
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

/** Lists every combination of choices, up to MAX_FIELDS + 1 sequences. */
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

/** Joins the values of pieces; an unquoted value is split at whitespace. */
function join(sequence: readonly Piece[], expander: Expander): string[] {
  const first = sequence[0];
  const pieces =
    first?.kind === "text" && !first.quoted ? expandTilde(sequence, first.text, expander.scope) : sequence;
  const done: string[] = [];
  let heads: string[] = [""];
  let isWord = false;
  const separator = separatorOf(expander.scope);
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
        const fields = splits ? value.split(separator) : [value];
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

/** The separator of fields in an unquoted value: whitespace, unless the text sets IFS. */
export function separatorOf(scope: Scope): RegExp {
  const characters = scope.valuesOf("IFS")?.[0] ?? "";
  if (/^[ \t\n]*$/.test(characters) || characters.includes(UNKNOWN) || characters.length > 20)
    return /[ \t\n]+/;
  return new RegExp(`[${characters.replace(/[\\\]^-]/g, "\\$&")}]+`);
}

function expandTilde(sequence: readonly Piece[], start: string, scope: Scope): readonly Piece[] {
  if (!start.startsWith("~")) return sequence;
  const slash = start.indexOf("/");
  const name = slash < 0 ? start.slice(1) : start.slice(1, slash);
  // `~"x"` is not a home folder: the whole user name must be unquoted.
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
    case "parameter":
      return parameterValues(piece, expander);
    case "process":
    case "unknown":
      return [UNKNOWN];
  }
}

function parameterValues(piece: Piece & { kind: "parameter" }, expander: Expander): readonly string[] {
  const { name, indirect, index, change } = piece;
  const { scope, meter } = expander;
  const own = scope.valuesOf(name);
  if (own === undefined) return [UNKNOWN];
  const values = indirect ? own.flatMap((target) => scope.valuesOf(target) ?? [UNKNOWN]) : own;
  if (change?.type === "slice" && (/^[@*]$/.test(name) || /^[@*]$/.test(index))) return values;
  const element = /^\d{1,4}$/.test(index) ? values[Number(index)] : undefined;
  const chosen = element === undefined ? values : [element];
  if (!change) return chosen;
  const quote = (part: Piece): Piece => ("quoted" in part ? { ...part, quoted: true } : part);
  const textOf = (word: Word) => meter.within(() => join(word.map(quote), expander)).join(" ");
  return chosen.map((value) => {
    meter.step(1 + value.length);
    return value.includes(UNKNOWN) ? UNKNOWN : changeValue(value, change, textOf);
  });
}

function changeValue(value: string, change: Change, textOf: (word: Word) => string): string {
  switch (change.type) {
    case "remove":
      return removePart(value, change.operator, textOf(change.pattern));
    case "replace":
      return replacePart(value, change.operator, textOf(change.pattern), textOf(change.replacement));
    case "slice":
      return sliceValue(value, change.offset, change.length);
    case "case":
      return changeCase(value, change.operator);
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
