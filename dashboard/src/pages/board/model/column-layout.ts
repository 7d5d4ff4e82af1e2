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

/** Open even while empty, because they show the path of a task. */
const ALWAYS_OPEN: ReadonlySet<Status> = new Set(["todo", "ready", "running", "done"]);

export interface LayoutChoices {
  readonly counts: Readonly<Partial<Record<Status, number>>>;
  /** Columns that a person has closed or opened, stored in the browser. */
  readonly chosen: Readonly<Partial<Record<Status, "open" | "closed">>>;
  /** How many columns fit side by side; undefined before it is measured. */
  readonly room?: number | undefined;
  /** The column that is open for a moment, because the pointer or a dragged card is over it. */
  readonly peeked: Status | undefined;
}

/** Closed first when space is short, because nothing in them can be done now. */
const QUIET: readonly Status[] = ["scheduled", "triage"];

/** The columns that are shown as narrow rails: empty ones, and quiet ones if space is short, unless a person chose otherwise. */
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
