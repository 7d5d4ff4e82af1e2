import { isMap, isNode, isPair, isScalar, LineCounter, type Node, parseDocument, type YAMLMap } from "yaml";

/** A position in a text file, counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export function formatPosition(path: string, { line, column }: Position): string {
  return `${path}:${line}:${column}`;
}

/** A parsed settings file whose values have positions. */
export interface YamlFile {
  readonly problems: readonly { readonly position: Position; readonly message: string }[];
  /** The value at a path, or undefined when the file does not set it. */
  find(
    path: readonly string[],
  ): { readonly value: unknown; readonly position: Position; readonly plain: boolean } | undefined;
  /** Every path in the file. A map for which `isSection` is false is a value. */
  paths(isSection: (path: readonly string[]) => boolean): Iterable<{ path: string[]; position: Position }>;
  /** Position of a path, or of its nearest existing ancestor. */
  positionOf(path: readonly string[]): Position;
}

/** Parses YAML 1.2 text. Never throws: syntax errors are in `problems`. */
export function parseYamlFile(text: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problems = document.errors.map((error) => ({
    position: at(error.pos[0]),
    message: explain(error.code, error.message),
  }));
  const root = document.contents;
  if (problems.length === 0 && root !== null && !isMap(root) && !(isScalar(root) && root.value === null)) {
    problems.push({
      position: at(root.range?.[0] ?? 0),
      message: "the file must contain `section:` keys, not a bare value or list",
    });
  }
  const nodeAt = (path: readonly string[]): Node | undefined => {
    const node = path.length === 0 ? root : document.getIn(path, true);
    return isNode(node) ? node : undefined;
  };
  return {
    problems,
    find(path) {
      if (problems.length > 0 || !document.hasIn(path)) return undefined;
      const node = nodeAt(path);
      const value = node ? node.toJS(document) : document.getIn(path);
      const plain = isScalar(node) && node.type === "PLAIN";
      return { value, position: this.positionOf(path), plain };
    },
    *paths(isSection) {
      if (problems.length === 0 && isMap(root)) yield* walk(root, [], isSection, at);
    },
    positionOf(path) {
      for (let length = path.length; length > 0; length--) {
        const offset = nodeAt(path.slice(0, length))?.range?.[0];
        if (offset !== undefined) return at(offset);
      }
      return { line: 1, column: 1 };
    },
  };
}

function* walk(
  map: YAMLMap,
  path: readonly string[],
  isSection: (path: readonly string[]) => boolean,
  at: (offset: number) => Position,
): Iterable<{ path: string[]; position: Position }> {
  for (const pair of map.items) {
    if (!isPair(pair)) continue;
    const name = isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
    const childPath = [...path, name];
    const offset = isNode(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;
    if (isMap(pair.value) && isSection(childPath)) yield* walk(pair.value, childPath, isSection, at);
    else yield { path: childPath, position: at(offset) };
  }
}

/** Replaces common messages of the parser with ones that say what to correct. */
function explain(code: string, message: string): string {
  const [, bracket] = /^Flow (?:sequence|map) .* end with a ([\]}])/.exec(message) ?? [];
  if (bracket !== undefined)
    return `a bracket before this line is not closed: its closing ${bracket} is missing`;
  const words: Record<string, string> = {
    TAB_AS_INDENT: "a tab indents this line; YAML requires spaces",
    DUPLICATE_KEY: "this key appears twice in the same section; keep one of them",
    BAD_INDENT: "the indentation is inconsistent; align the line with the lines around it",
    MULTIPLE_DOCS: "the file contains several documents (`---`); keep one",
  };
  return words[code] ?? (message.split("\n")[0] ?? message).replace(/\.$/, "");
}
