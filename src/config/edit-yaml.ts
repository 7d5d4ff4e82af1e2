import { isDeepStrictEqual } from "node:util";
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  type YAMLMap,
} from "yaml";

/**
 * The text with one value set, and every other byte as it was: comments, order, quoting, blank lines.
 * The edit is made in the text itself and proven by parsing the result; where no such edit is possible
 * (an anchor, a one-line map in an odd place) the document is written anew, which keeps comments and order.
 */
export function setInYaml(text: string, path: readonly string[], value: unknown): string {
  const document = parseDocument(text);
  const wanted = parseDocument(text);
  setIn(wanted, path, value);
  return proven(spliceSet(text, document, path, value), wanted);
}

/** The text without one value, and without the sections that it leaves empty. */
export function unsetInYaml(text: string, path: readonly string[]): string {
  const document = parseDocument(text);
  if (!document.hasIn(path)) return text;
  const wanted = parseDocument(text);
  const from = emptiedAncestor(wanted, path);
  wanted.deleteIn(from);
  return proven(spliceUnset(text, document, from), wanted);
}

function proven(candidate: string | undefined, wanted: Document): string {
  if (candidate !== undefined) {
    const parsed = parseDocument(candidate);
    if (parsed.errors.length === 0 && isDeepStrictEqual(parsed.toJS() ?? {}, wanted.toJS() ?? {}))
      return candidate;
  }
  return wanted.contents === null ? "" : wanted.toString({ lineWidth: 0 });
}

function setIn(document: Document, path: readonly string[], value: unknown): void {
  // A section that is there but empty (`terminal:`) is a null, which setIn cannot step into.
  for (let length = 0; length < path.length; length++) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (node !== undefined && !isMap(node)) {
      if (length === 0) document.contents = document.createNode({}) as never;
      else document.setIn(path.slice(0, length), document.createNode({}));
    }
  }
  document.setIn(path, document.createNode(value));
}

function spliceSet(
  text: string,
  document: Document,
  path: readonly string[],
  value: unknown,
): string | undefined {
  const current = document.getIn(path, true);
  if (isNode(current) && current.range) return replaceValue(text, current, value);
  const parentPath = path.slice(0, deepestMap(document, path));
  const parent = parentPath.length === 0 ? document.contents : document.getIn(parentPath, true);
  const missing = path.slice(parentPath.length);
  if (!isMap(parent))
    return text.trim() === "" || document.contents === null ? append(text, block(missing, value)) : undefined;
  return parent.flow ? undefined : appendToMap(text, parent, missing, value);
}

function replaceValue(text: string, current: Node, value: unknown): string | undefined {
  const [start, end] = current.range ?? [0, 0];
  if ("anchor" in current && current.anchor !== undefined) return undefined;
  // Flow style keeps the new value inside the place of the old one, whatever stands around it.
  const inline = typeof value === "object" && value !== null ? JSON.stringify(value) : scalar(value);
  const before = start > 0 && text[start - 1] === ":" ? " " : "";
  return text.slice(0, start) + before + inline + text.slice(end);
}

function appendToMap(
  text: string,
  map: YAMLMap,
  path: readonly string[],
  value: unknown,
): string | undefined {
  const last = map.items.at(-1);
  const first = map.items[0];
  if (!isPair(last) || !isPair(first) || !isNode(first.key) || !first.key.range) return undefined;
  const indent = columnOf(text, first.key.range[0]);
  const end = endOfLine(text, endOf(last));
  const newline = end > 0 && text[end - 1] !== "\n" ? "\n" : "";
  return text.slice(0, end) + newline + indented(block(path, value), indent) + text.slice(end);
}

function spliceUnset(text: string, document: Document, path: readonly string[]): string | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isMap(parent) || parent.flow) return undefined;
  const pair = parent.items.find(
    (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === path.at(-1),
  );
  if (!pair || !isNode(pair.key) || !pair.key.range) return undefined;
  const start = text.lastIndexOf("\n", pair.key.range[0] - 1) + 1;
  return text.slice(0, start) + text.slice(endOfLine(text, endOf(pair)));
}

/** How many words of the path lead through maps that exist. */
function deepestMap(document: Document, path: readonly string[]): number {
  let depth = 0;
  while (depth < path.length - 1 && isMap(document.getIn(path.slice(0, depth + 1), true))) depth++;
  return depth;
}

function emptiedAncestor(document: Document, path: readonly string[]): readonly string[] {
  let from = path;
  while (from.length > 1) {
    const parent = document.getIn(from.slice(0, -1), true);
    if (!isMap(parent) || parent.items.length > 1) break;
    from = from.slice(0, -1);
  }
  return from;
}

function endOf(pair: Pair): number {
  const key = isNode(pair.key) ? (pair.key.range?.[1] ?? 0) : 0;
  const value = isNode(pair.value) ? (pair.value.range?.[1] ?? 0) : 0;
  return Math.max(key, value);
}

function endOfLine(text: string, offset: number): number {
  if (offset > 0 && text[offset - 1] === "\n") return offset;
  const newline = text.indexOf("\n", offset);
  return newline === -1 ? text.length : newline + 1;
}

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf("\n", offset - 1) + 1);
}

function append(text: string, addition: string): string {
  return text === "" || text.endsWith("\n") ? text + addition : `${text}\n${addition}`;
}

function block(path: readonly string[], value: unknown): string {
  const nested = path.reduceRight<unknown>((inner, word) => ({ [word]: inner }), value);
  return stringify(nested, { lineWidth: 0 });
}

function indented(lines: string, columns: number): string {
  return lines.replace(/^(?=.)/gm, " ".repeat(columns));
}

function scalar(value: unknown): string {
  return JSON.stringify(value) === stringify(value).trim() ? JSON.stringify(value) : stringifyInline(value);
}

function stringifyInline(value: unknown): string {
  const plain = stringify(value, { lineWidth: 0 }).replace(/\n$/, "");
  return plain.includes("\n") || /^[|>]/.test(plain) ? JSON.stringify(value) : plain;
}
