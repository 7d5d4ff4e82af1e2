import { type Document, isMap, isNode, type LineCounter } from "yaml";

type Path = readonly (string | number)[];

/** A task of a plan before its fields are validated. */
export interface WrittenTask {
  /** The line of the task or of one of its fields, for error messages. */
  locationOf(field?: string): string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The index of the parent item or, in a numbered list, of the previous item. */
  readonly predecessor: number | undefined;
}

const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+(?:\[([ xX])\]\s+)?(.*\S)\s*$/;

interface OpenItem {
  readonly indent: number;
  readonly index: number;
  /** The index of the last numbered child. */
  numbered: number | undefined;
}

/**
 * Reads the tasks of a Markdown plan: one per list item, with `@name` for the assignee, `!5` for the priority and
 * `(after: a, b)` for dependencies. A nested item waits for its parent, a numbered one for the previous number. Indented
 * text is the body.
 */
export function parseMarkdownPlan(text: string): readonly WrittenTask[] {
  const tasks: { line: number; fields: Record<string, unknown>; predecessor: number | undefined }[] = [];
  const top: OpenItem = { indent: -1, index: -1, numbered: undefined };
  let open: OpenItem[] = [top];
  const bodies: string[][] = [];
  let isCode = false;
  for (const [number, line] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
    const item = isCode ? null : ITEM.exec(line);
    const indent = indentOf(line);
    if (item === null) {
      const current = open.at(-1);
      const isBody =
        current !== undefined && current !== top && (line.trim() === "" || indent > current.indent);
      if (isBody) bodies[current.index]?.push(line);
      else if (line.trim() !== "") open = [top]; // a heading or a paragraph ends the list
      continue;
    }
    while (open.length > 1 && (open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const outer = open.at(-1) ?? top;
    const [, isNumbered, mark = " ", words = ""] = item;
    const index = tasks.length;
    const previous = isNumbered === undefined ? undefined : outer.numbered;
    const predecessor = previous ?? (outer === top ? undefined : outer.index);
    tasks.push({ line: number + 1, fields: { ...fieldsIn(words), done: mark !== " " }, predecessor });
    bodies.push([]);
    outer.numbered = isNumbered === undefined ? undefined : index;
    open.push({ indent, index, numbered: undefined });
  }
  return tasks.map(({ line, fields, predecessor }, index) => {
    const { done, ...rest } = fields;
    const body = removeIndent(bodies[index] ?? []);
    return {
      locationOf: () => `line ${line}`,
      predecessor,
      fields: { ...rest, ...(done === true && { done }), ...(body !== "" && { body }) },
    };
  });
}

const TAB = 4;

/** The column at which the text of a line begins. A tab ends at the next multiple of four, as Markdown defines it. */
function indentOf(line: string): number {
  let column = 0;
  for (const character of /^\s*/.exec(line)?.[0] ?? "")
    column += character === "\t" ? TAB - (column % TAB) : 1;
  return column;
}

const MARK = /\s+(?:@([\w.-]+)|!(-?\d+)|\(after:\s*((?:[^()]|\([^()]*\))*)\))$/;

/** Parses the marks at the end of an item. Two assignees or priorities are kept as a list, which validation refuses. */
function fieldsIn(words: string): Record<string, unknown> {
  const found = { assignee: [] as string[], priority: [] as number[], after: [] as string[] };
  let title = words;
  for (let mark = MARK.exec(title); mark !== null; mark = MARK.exec(title)) {
    const [text, assignee, priority, after] = mark;
    if (assignee !== undefined) found.assignee.unshift(assignee);
    if (priority !== undefined) found.priority.unshift(Number(priority));
    if (after !== undefined) found.after.unshift(after);
    title = title.slice(0, -text.length);
  }
  const { assignee, priority, after } = found;
  return {
    title,
    ...(assignee.length > 0 && { assignee: assignee.length === 1 ? assignee[0] : assignee }),
    ...(priority.length > 0 && { priority: priority.length === 1 ? priority[0] : priority }),
    ...(after.length > 0 && { after }),
  };
}

function removeIndent(lines: readonly string[]): string {
  const full = lines.filter((line) => line.trim() !== "");
  const indent = Math.min(...full.map((line) => /^\s*/.exec(line)?.[0].length ?? 0));
  return full.length === 0
    ? ""
    : lines
        .map((line) => line.slice(indent))
        .join("\n")
        .trim();
}

/** Reads a YAML plan: a list of tasks, or a mapping with the list under `tasks`. A nested task waits for its parent. */
export function parseYamlPlan(document: Document.Parsed, lines: LineCounter): readonly WrittenTask[] {
  const isMapping = (one: unknown): one is Record<string, unknown> =>
    typeof one === "object" && one !== null && !Array.isArray(one);
  const locationOf = (path: Path, field?: string): string | undefined => {
    const item = document.getIn(path, true);
    const key = isMap(item) ? item.items.find((pair) => String(pair.key) === field)?.key : undefined;
    const node = field === undefined ? item : key;
    const start = isNode(node) ? node.range?.[0] : undefined;
    return start === undefined ? undefined : `line ${lines.linePos(start).line}`;
  };
  const value: unknown = document.toJS();
  const { tasks: list = [], ...common } = isMapping(value) ? value : { tasks: value };
  const tasks: WrittenTask[] = [];
  const read = (items: unknown, path: Path, predecessor: number | undefined): void => {
    if (!Array.isArray(items)) {
      tasks.push({
        locationOf: () => locationOf(path) ?? "line 1",
        fields: { title: undefined },
        predecessor,
      });
      return;
    }
    for (const [number, item] of items.entries()) {
      const here = [...path, number];
      const { tasks: below, ...fields }: Record<string, unknown> = isMapping(item) ? item : { title: item };
      const index = tasks.length;
      tasks.push({
        locationOf: (field) =>
          (field === undefined ? undefined : (locationOf(here, field) ?? locationOf([], field))) ??
          locationOf(here) ??
          "line 1",
        fields: { ...common, ...fields },
        predecessor,
      });
      if (below !== undefined) read(below, [...here, "tasks"], index);
    }
  };
  read(list, isMapping(value) ? ["tasks"] : [], undefined);
  return tasks;
}
