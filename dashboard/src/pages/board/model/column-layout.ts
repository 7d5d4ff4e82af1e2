import type { Status } from "../../../../../src/api/contract/boards.ts";

/** The columns of a board, in the order of a task's lifecycle. */
export const COLUMNS = [
  "triage",
  "todo",
  "scheduled",
  "ready",
  "running",
  "blocked",
  "review",
  "done",
] as const satisfies readonly Status[];

/** These are open even while they are empty: a board without them would not show where work goes. */
const ALWAYS_OPEN: ReadonlySet<Status> = new Set(["todo", "ready", "running", "done"]);

export interface LayoutChoices {
  readonly counts: Readonly<Partial<Record<Status, number>>>;
  /** Columns that a person has closed or opened; kept in the browser. */
  readonly chosen: Readonly<Partial<Record<Status, "open" | "closed">>>;
  /** How many columns fit beside each other; undefined while that is not known. */
  readonly room?: number | undefined;
  /** Columns that are open for a moment: under the pointer, or because a card can be dropped there. */
  readonly peeked: Status | undefined;
}

/** These give way first where there is not room for all: nothing in them can be done now. */
const QUIET: readonly Status[] = ["scheduled", "triage"];

/** The columns that are narrow rails: empty ones, and quiet ones where there is no room, unless a person chose otherwise. */
export function railsOf(
  statuses: readonly Status[],
  { counts, chosen, room = Number.POSITIVE_INFINITY, peeked }: LayoutChoices,
): ReadonlySet<Status> {
  const rails = new Set(
    statuses.filter((status) =>
      chosen[status] === undefined
        ? (counts[status] ?? 0) === 0 && !ALWAYS_OPEN.has(status)
        : chosen[status] === "closed",
    ),
  );
  for (const status of QUIET)
    if (statuses.length - rails.size > room && chosen[status] === undefined && statuses.includes(status))
      rails.add(status);
  if (peeked !== undefined) rails.delete(peeked);
  return rails;
}
