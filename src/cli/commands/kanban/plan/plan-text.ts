/** A task as a plan has it, before its values are checked. */
export interface WrittenTask {
  /** Where it stands, for problems. */
  readonly place: string;
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
  const tasks: { place: string; fields: Record<string, unknown>; behind: number | undefined }[] = [];
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
    tasks.push({ place: `line ${number + 1}`, fields: { ...fieldsIn(words), done: mark !== " " }, behind });
    bodies.push([]);
    outer.numbered = isNumbered === undefined ? undefined : index;
    open.push({ indent, index, numbered: undefined });
  }
  return tasks.map(({ place, fields, behind }, index) => {
    const { done, ...rest } = fields;
    const body = unindented(bodies[index] ?? []);
    return {
      place,
      behind,
      fields: { ...rest, ...(done === true && { done }), ...(body !== "" && { body }) },
    };
  });
}

function fieldsIn(words: string): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  let title = words;
  for (;;) {
    const [found, assignee, priority, after] =
      /\s+(?:@([\w.-]+)|!(-?\d+)|\(after:\s*([^)]*)\))$/.exec(title) ?? [];
    if (found === undefined) return { title, ...fields };
    if (assignee !== undefined) fields["assignee"] = assignee;
    if (priority !== undefined) fields["priority"] = Number(priority);
    if (after !== undefined) fields["after"] = after.split(",").map((name) => name.trim());
    title = title.slice(0, -found.length);
  }
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
export function readYamlPlan(value: unknown): readonly WrittenTask[] {
  const isMapping = (one: unknown): one is Record<string, unknown> =>
    typeof one === "object" && one !== null && !Array.isArray(one);
  const { tasks: list = [], ...common } = isMapping(value) ? value : { tasks: value };
  const tasks: WrittenTask[] = [];
  const read = (items: unknown, path: string, behind: number | undefined): void => {
    if (!Array.isArray(items)) {
      tasks.push({ place: path, fields: { title: undefined }, behind });
      return;
    }
    for (const [number, item] of items.entries()) {
      const place = `${path}[${number}]`;
      const { tasks: below, ...fields }: Record<string, unknown> = isMapping(item) ? item : { title: item };
      const index = tasks.length;
      tasks.push({ place, fields: { ...common, ...fields }, behind });
      if (below !== undefined) read(below, `${place}.tasks`, index);
    }
  };
  read(list, "tasks", undefined);
  return tasks;
}
