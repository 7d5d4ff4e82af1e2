import { isDeepStrictEqual } from "node:util";
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

/**
 * Sets one value and keeps every other byte of the text: comments, order, quoting, blank lines. Edits the text itself and
 * verifies the result by parsing it. If that is not possible (an anchor, some flow maps), it serialises the whole document,
 * which keeps comments and order.
 */
export function setInYaml(text: string, path: readonly string[], value: unknown): string {
  const document = parseDocument(text);
  const expected = parseDocument(text);
  setIn(expected, path, value);
  return verifiedOrSerialised(spliceSet(text, document, path, value), expected);
}

/** Adds an item to a list, unless it is already there. Like `setInYaml`, keeps every other byte of the text. */
export function addInYaml(text: string, path: readonly string[], item: string): string {
  const list = parseDocument(text).getIn(path, true);
  if (!isSeq(list)) return setInYaml(text, path, [item]);
  if (list.items.some((one) => isScalar(one) && one.value === item)) return text;
  const expected = parseDocument(text);
  expected.addIn(path, item);
  return verifiedOrSerialised(spliceItem(text, list, item), expected);
}

/** Removes one value, and the sections that become empty. */
export function unsetInYaml(text: string, path: readonly string[]): string {
  const document = parseDocument(text);
  if (!document.hasIn(path)) return text;
  const expected = parseDocument(text);
  const from = emptiedAncestor(expected, path);
  expected.deleteIn(from);
  return verifiedOrSerialised(spliceUnset(text, document, from), expected);
}

function verifiedOrSerialised(candidate: string | undefined, expected: Document): string {
  if (candidate !== undefined) {
    const parsed = parseDocument(candidate);
    if (parsed.errors.length === 0 && isDeepStrictEqual(parsed.toJS() ?? {}, expected.toJS() ?? {}))
      return candidate;
  }
  return expected.contents === null ? "" : expected.toString({ lineWidth: 0 });
}

function setIn(document: Document, path: readonly string[], value: unknown): void {
  // An empty section (`terminal:`) is null, and `setIn` of the library cannot set a key below null.
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
  // In flow style, the new value can replace the old one whatever text surrounds it.
  const inline = typeof value === "object" && value !== null ? JSON.stringify(value) : stringifyInline(value);
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
  const start = first.key.range[0];
  const indent = " ".repeat(start - (text.lastIndexOf("\n", start - 1) + 1));
  const end = endOfLine(text, endOf(last));
  const newline = end > 0 && text[end - 1] !== "\n" ? "\n" : "";
  return text.slice(0, end) + newline + block(path, value).replace(/^(?=.)/gm, indent) + text.slice(end);
}

function spliceItem(text: string, list: YAMLSeq, item: string): string | undefined {
  const last = list.items.at(-1);
  if (list.flow || !list.range || !isNode(last) || !last.range) return undefined;
  const [start] = list.range;
  const indent = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  const end = endOfLine(text, last.range[1]);
  const newline = text[end - 1] === "\n" ? "" : "\n";
  return `${text.slice(0, end)}${newline}${indent}- ${stringifyInline(item)}\n${text.slice(end)}`;
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

/** Length of the longest prefix of the path that consists of existing maps. */
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

function append(text: string, addition: string): string {
  return text === "" || text.endsWith("\n") ? text + addition : `${text}\n${addition}`;
}

function block(path: readonly string[], value: unknown): string {
  const nested = path.reduceRight<unknown>((inner, word) => ({ [word]: inner }), value);
  return stringify(nested, { lineWidth: 0 });
}

function stringifyInline(value: unknown): string {
  const plain = stringify(value, { lineWidth: 0 }).replace(/\n$/, "");
  return plain.includes("\n") || /^[|>]/.test(plain) ? JSON.stringify(value) : plain;
}
