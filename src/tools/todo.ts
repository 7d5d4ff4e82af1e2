import { z } from "zod";
import { defineTool, okJson } from "./define-tool.ts";
import type { Tool } from "./tool.ts";

const MOST_ITEMS = 256;
const LONGEST = 4_000;

const item = z.strictObject({
  id: z.string().min(1),
  content: z.string().min(1).max(LONGEST),
  status: z.enum(["pending", "in_progress", "completed", "cancelled"]).default("pending"),
  parent: z.string().optional(),
});
export type TodoItem = z.infer<typeof item>;

const result = z.object({ todos: z.array(item) });

const input = z.strictObject({
  todos: z.array(item).max(MOST_ITEMS).optional().describe("In order of priority; none to read the list"),
  merge: z.boolean().default(false).describe("Change items by id instead of replacing the list"),
});

/** The plan of a session, which the model keeps for itself and for the person who watches. */
export function createTodo(initial: readonly TodoItem[]): Tool {
  let items: readonly TodoItem[] = initial;
  let revision = 0;
  return defineTool({
    name: "todo",
    toolset: "todo",
    description:
      "Keep the plan of a task with three steps or more. One item in_progress at a time; without todos it reads.",
    input,
    mutates: true,
    exclusive: true,
    async run({ todos, merge }) {
      let note: string | undefined;
      if (todos !== undefined) {
        const next = merge ? merged(items, todos) : todos;
        items = next.slice(0, MOST_ITEMS);
        if (next.length > MOST_ITEMS) note = `Only the first ${MOST_ITEMS} items were kept.`;
        if (items.filter(({ status }) => status === "in_progress").length > 1)
          note = "More than one item is in_progress; finish one before the next.";
        revision++;
      }
      return okJson({ todos: items, counts: countsOf(items), revision, note }, todos && render(items));
    },
  });
}

/** The list as the last result of the tool has it, to go on with after a restart. */
export function todosOf(lastResult: string | undefined): readonly TodoItem[] {
  if (lastResult === undefined) return [];
  try {
    return result.parse(JSON.parse(lastResult.replace(/\n\n\[[^\n]*\]$/, ""))).todos;
  } catch {
    return []; // a result that was cut, or of another version
  }
}

function merged(items: readonly TodoItem[], changes: readonly TodoItem[]): TodoItem[] {
  const changed = new Map(changes.map((change) => [change.id, change]));
  const kept = items.map((old) => changed.get(old.id) ?? old);
  const known = new Set(items.map(({ id }) => id));
  return [...kept, ...changes.filter(({ id }) => !known.has(id))];
}

function countsOf(items: readonly TodoItem[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of items) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const MARKS = { pending: " ", in_progress: ">", completed: "x", cancelled: "-" } as const;

function render(items: readonly TodoItem[]): string {
  return items.map(({ status, content }) => `[${MARKS[status]}] ${content}`).join("\n");
}
