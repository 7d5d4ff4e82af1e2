import { type Document, isMap, isNode, type LineCounter } from "yaml";

type Path = readonly (string | number)[];

/** A task as a plan has it, before its values are checked. */
export interface WrittenTask {
  /** Where it stands, or where one of its fields does, for problems. */
  placeOf(field?: string): string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The task around it or, in a numbered list, before it, as its place in the list of all tasks. */
  readonly behind: number | undefined;
}

const ITEM = /^(\s*)(?:[-*+]|(\d+)[.)])\s+(?:\[([ xX])\]\s+)?(.*\S)\s*$/;

interface OpenItem {
  readonly indent: number;
  readonly index: number;
  /** Of the last numbered item below this one. */
  numbered: number | undefined;
}

/**
 * The tasks of a markdown plan: each item of a list is one, `@name` its assignee, `!5` its priority, `(after: a, b)` what
 * it waits for. An item below another one waits for it, a numbered one for the number before. Indented text is the body.
 */
export function readMarkdownPlan(text: string): readonly WrittenTask[] {
  const tasks: { line: number; fields: Record<string, unknown>; behind: number | undefined }[] = [];
  const top: OpenItem = { indent: -1, index: -1, numbered: undefined };
  let open: OpenItem[] = [top];
  const bodies: string[][] = [];
  let isCode = false;
  for (const [number, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
    const item = isCode ? null : ITEM.exec(line);
    const indent = /^\s*/.exec(line)?.[0].length ?? 0;
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
    const [, , isNumbered, mark = " ", words = ""] = item;
    const index = tasks.length;
    const previous = isNumbered === undefined ? undefined : outer.numbered;
    const behind = previous ?? (outer === top ? undefined : outer.index);
    tasks.push({ line: number + 1, fields: { ...fieldsIn(words), done: mark !== " " }, behind });
    bodies.push([]);
    outer.numbered = isNumbered === undefined ? undefined : index;
    open.push({ indent, index, numbered: undefined });
  }
  return tasks.map(({ line, fields, behind }, index) => {
    const { done, ...rest } = fields;
    const body = unindented(bodies[index] ?? []);
    return {
      placeOf: () => `line ${line}`,
      behind,
      fields: { ...rest, ...(done === true && { done }), ...(body !== "" && { body }) },
    };
  });
}

const MARK = /\s+(?:@([\w.-]+)|!(-?\d+)|\(after:\s*((?:[^()]|\([^()]*\))*)\))$/;

/** What stands at the end of an item. Of two assignees or priorities nobody could tell which one was meant. */
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

function unindented(lines: readonly string[]): string {
  const full = lines.filter((line) => line.trim() !== "");
  const indent = Math.min(...full.map((line) => /^\s*/.exec(line)?.[0].length ?? 0));
  return full.length === 0
    ? ""
    : lines
        .map((line) => line.slice(indent))
        .join("\n")
        .trim();
}

/** The tasks of a YAML plan: a list, or a mapping with the list under `tasks`; one below another one waits for it. */
export function readYamlPlan(document: Document.Parsed, lines: LineCounter): readonly WrittenTask[] {
  const isMapping = (one: unknown): one is Record<string, unknown> =>
    typeof one === "object" && one !== null && !Array.isArray(one);
  const placeOf = (path: Path, field?: string): string | undefined => {
    const item = document.getIn(path, true);
    const key = isMap(item) ? item.items.find((pair) => String(pair.key) === field)?.key : undefined;
    const node = field === undefined ? item : key;
    const start = isNode(node) ? node.range?.[0] : undefined;
    return start === undefined ? undefined : `line ${lines.linePos(start).line}`;
  };
  const value: unknown = document.toJS();
  const { tasks: list = [], ...common } = isMapping(value) ? value : { tasks: value };
  const tasks: WrittenTask[] = [];
  const read = (items: unknown, path: Path, behind: number | undefined): void => {
    if (!Array.isArray(items)) {
      tasks.push({ placeOf: () => placeOf(path) ?? "line 1", fields: { title: undefined }, behind });
      return;
    }
    for (const [number, item] of items.entries()) {
      const here = [...path, number];
      const { tasks: below, ...fields }: Record<string, unknown> = isMapping(item) ? item : { title: item };
      const index = tasks.length;
      tasks.push({
        placeOf: (field) =>
          (field === undefined ? undefined : (placeOf(here, field) ?? placeOf([], field))) ??
          placeOf(here) ??
          "line 1",
        fields: { ...common, ...fields },
        behind,
      });
      if (below !== undefined) read(below, [...here, "tasks"], index);
    }
  };
  read(list, isMapping(value) ? ["tasks"] : [], undefined);
  return tasks;
}
