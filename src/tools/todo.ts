import { z } from "zod";
import { defineTool, failed, okJson } from "./define-tool.ts";
import type { Tool } from "./tool.ts";

const MOST_ITEMS = 256;
const LONGEST = 4_000;

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
  content: z.string().min(1).max(LONGEST).optional(),
  status: status.optional(),
  parent: z.string().optional(),
});
type Change = z.infer<typeof change> & { readonly id: string };

const input = z.strictObject({
  todos: z.array(change).max(MOST_ITEMS).optional().describe("In order of priority; none to read the list"),
  merge: z.boolean().default(false).describe("Change or add items by id instead of replacing the list"),
});

/** What a session goes on with. */
export interface TodoState {
  readonly items: readonly TodoItem[];
  readonly revision: number;
}

/** The plan of a session, which the model keeps for itself and for the person who watches. */
export function createTodo(initial: TodoState): Tool {
  let { items, revision } = initial;
  return defineTool({
    name: "todo",
    toolset: "todo",
    description:
      "Keep the plan of a task with three steps or more. One item in_progress at a time; without todos it reads.",
    input,
    mutates: false, // nothing but the list itself, which every result holds
    exclusive: true,
    async run({ todos, merge }) {
      if (todos === undefined) return okJson({ todos: items, counts: countsOf(items), revision });
      const changes = todos.map((one, index) => ({ ...one, id: one.id ?? `${index + 1}` }));
      const next = merged(merge ? items : [], changes);
      const incomplete = next.find(({ content }) => content === undefined);
      if (incomplete !== undefined)
        return failed(`todo was not changed: the item "${incomplete.id}" is new and needs content.`);
      if (next.length > MOST_ITEMS)
        return failed(
          `todo was not changed: it would have ${next.length} items; ${MOST_ITEMS} are the most.`,
        );
      const set = new Set(changes.filter((one) => one.status === "in_progress").map(({ id }) => id));
      const { list, demoted } = withOneInProgress(next.map(complete), set);
      items = list;
      revision++;
      const note =
        demoted.length === 0
          ? undefined
          : `Only one item can be in_progress; back to pending: ${demoted.join(", ")}.`;
      return okJson({ todos: items, counts: countsOf(items), revision, note }, render(items));
    },
  });
}

const result = z.object({ todos: z.array(item), revision: z.int() });

/** The list as the last result of the tool has it, to go on with after a restart. */
export function todosOf(lastResult: string | undefined): TodoState {
  if (lastResult === undefined) return NO_TODOS;
  try {
    // The loop may have put a note of its own below.
    const { todos, revision } = result.parse(JSON.parse(lastResult.replace(/(?:\n\n\[[^\n]*\])+$/, "")));
    return { items: todos, revision };
  } catch {
    return NO_TODOS; // a result that was cut, or of another version
  }
}

export const NO_TODOS: TodoState = { items: [], revision: 0 };

/** Known items keep their places and what a change does not name; of two changes of one item the later counts. */
function merged(items: readonly TodoItem[], changes: readonly Change[]): Change[] {
  const byId = new Map<string, Change>(items.map((old) => [old.id, old]));
  for (const { id, content, status, parent } of changes) {
    const old = byId.get(id);
    byId.set(id, {
      id,
      content: content ?? old?.content,
      status: status ?? old?.status,
      ...((parent ?? old?.parent) !== undefined && { parent: parent ?? old?.parent }),
    });
  }
  return [...byId.values()];
}

function complete({ id, content = "", status = "pending", parent }: Change): TodoItem {
  return { id, content, status, ...(parent !== undefined && { parent }) };
}

/** Of several in progress one stays so: one that was just set before those that were, else the first. */
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
