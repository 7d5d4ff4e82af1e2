import { z } from "zod";
import { defineTool, failed, okJson } from "./define-tool.ts";
import type { Tool } from "./tool.ts";

const MAX_ITEMS = 256;
const MAX_CONTENT_CHARS = 4_000;
const ONE_IN_PROGRESS = "Only one item can be in_progress; back to pending";

const status = z.enum(["pending", "in_progress", "completed", "cancelled"]);
const item = z.object({
  id: z.string(),
  content: z.string(),
  status,
  parent: z.string().optional(),
});
export type TodoItem = z.infer<typeof item>;

const change = z.object({
  id: z
    .union([z.string().min(1), z.int()])
    .transform(String)
    .optional(),
  content: z.string().min(1).max(MAX_CONTENT_CHARS).optional(),
  status: status.optional(),
  parent: z.string().optional(),
});
type Change = z.infer<typeof change> & { readonly id: string };

const input = z.strictObject({
  todos: z.array(change).max(MAX_ITEMS).optional().describe("In order of priority; none to read the list"),
  merge: z.boolean().default(false).describe("Change or add items by id instead of replacing the list"),
});

/** The state with which a resumed session starts. */
export interface TodoState {
  readonly items: readonly TodoItem[];
  readonly revision: number;
}

/** The plan of a session, which the model maintains for itself and for the user. */
export function createTodo(initial: TodoState): Tool {
  let { items, revision } = initial;
  return defineTool({
    name: "todo",
    toolset: "todo",
    description:
      "Keep the plan of a task with three steps or more. One item in_progress at a time; omit todos to read the plan.",
    input,
    mutates: false, // changes only the list, which every result contains
    exclusive: true,
    async run({ todos, merge }) {
      if (todos === undefined) return okJson({ todos: items, counts: countsOf(items), revision });
      const changes = todos.map((one, index) => ({ ...one, id: one.id ?? `${index + 1}` }));
      const next = mergeItems(merge ? items : [], changes);
      const incomplete = next.find(({ content }) => content === undefined);
      if (incomplete !== undefined)
        return failed(`todo was not changed: the item "${incomplete.id}" is new and needs content.`);
      if (next.length > MAX_ITEMS)
        return failed(
          `todo was not changed: it would have ${next.length} items; the maximum is ${MAX_ITEMS}.`,
        );
      const set = new Set(changes.filter((one) => one.status === "in_progress").map(({ id }) => id));
      const { list, demoted } = withOneInProgress(next.map(complete), set);
      items = list;
      revision++;
      const note = demoted.length > 0 ? `${ONE_IN_PROGRESS}: ${demoted.join(", ")}.` : undefined;
      return okJson({ todos: items, counts: countsOf(items), revision, note }, render(items));
    },
  });
}

const result = z.object({ todos: z.array(item), revision: z.int() });

/** Restores the list from the tool's last result. */
export function parseTodos(lastResult: string | undefined): TodoState {
  if (lastResult === undefined) return NO_TODOS;
  try {
    // The loop may have appended notes.
    const { todos, revision } = result.parse(JSON.parse(lastResult.replace(/(?:\n\n\[[^\n]*\])+$/, "")));
    return { items: todos, revision };
  } catch {
    return NO_TODOS; // a truncated result, or a result of another version
  }
}

export const NO_TODOS: TodoState = { items: [], revision: 0 };

/** Known items keep their positions and the fields that a change omits; the last change of an item wins. */
function mergeItems(items: readonly TodoItem[], changes: readonly Change[]): Change[] {
  const byId = new Map<string, Change>(items.map((old) => [old.id, old]));
  for (const { id, content, status, parent } of changes) {
    const old = byId.get(id);
    const kept = { content: content ?? old?.content, status: status ?? old?.status };
    byId.set(id, { id, ...kept, parent: parent ?? old?.parent });
  }
  return [...byId.values()];
}

function complete({ id, content = "", status = "pending", parent }: Change): TodoItem {
  return { id, content, status, ...(parent !== undefined && { parent }) };
}

/** Keeps one item in progress: the first of those just set, otherwise the first. Resets the others to pending. */
function withOneInProgress(
  items: readonly TodoItem[],
  justSet: ReadonlySet<string>,
): { readonly list: readonly TodoItem[]; readonly demoted: readonly string[] } {
  const running = items.filter((one) => one.status === "in_progress");
  const kept = running.find(({ id }) => justSet.has(id)) ?? running[0];
  const demoted = running.filter((one) => one !== kept).map(({ id }) => id);
  const list = items.map((one) => (demoted.includes(one.id) ? { ...one, status: "pending" as const } : one));
  return { list, demoted };
}

function countsOf(items: readonly TodoItem[]): Record<string, number> {
  const counts: Record<string, number> = { total: items.length };
  for (const { status } of items) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const MARKS = { pending: " ", in_progress: ">", completed: "x", cancelled: "-" } as const;

function render(items: readonly TodoItem[]): string {
  return items.map(({ status, content }) => `[${MARKS[status]}] ${content}`).join("\n");
}
