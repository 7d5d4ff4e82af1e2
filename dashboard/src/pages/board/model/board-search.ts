import type { Card, CardsQuery } from "../../../../../src/api/contract/boards.ts";

export const VIEWS = ["board", "list", "graph"] as const;
export type BoardView = (typeof VIEWS)[number];
export const ORDERS = ["board", "created", "updated", "title"] as const;
export type BoardOrder = (typeof ORDERS)[number];
export const TABS = ["task", "log", "diff", "runs", "events"] as const;
export type TaskTab = (typeof TABS)[number];

/** The part of the address that describes the view of a board. Defaults are omitted, to keep addresses short. */
export interface BoardSearch {
  readonly q?: string;
  /** Names separated by commas; "-" stands for unassigned tasks. */
  readonly assignee?: string;
  readonly tenant?: string;
  readonly sort?: Exclude<BoardOrder, "board">;
  readonly archived?: true;
  readonly view?: Exclude<BoardView, "board">;
  readonly tab?: Exclude<TaskTab, "task">;
}

/** Reads an address; unknown values are ignored. */
export function parseSearch(search: Readonly<Record<string, unknown>>): BoardSearch {
  const text = (name: string): string | undefined => {
    const value = search[name];
    const trimmed = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
    return trimmed === "" ? undefined : trimmed.slice(0, 300);
  };
  const oneOf = <Value extends string>(name: string, values: readonly Value[]): Value | undefined =>
    values.find((value) => value === search[name]);
  const q = text("q");
  const assignee = text("assignee");
  const tenant = text("tenant");
  const sort = oneOf("sort", ["created", "updated", "title"] as const);
  const view = oneOf("view", ["list", "graph"] as const);
  const tab = oneOf("tab", ["log", "diff", "runs", "events"] as const);
  return {
    ...(q !== undefined && { q }),
    ...(assignee !== undefined && { assignee }),
    ...(tenant !== undefined && { tenant }),
    ...(sort !== undefined && { sort }),
    ...((search["archived"] === true || search["archived"] === "true") && { archived: true as const }),
    ...(view !== undefined && { view }),
    ...(tab !== undefined && { tab }),
  };
}

export const UNASSIGNED = "-";

/** The chosen assignees; `UNASSIGNED` stands for tasks without one. */
export const assigneesOf = ({ assignee }: BoardSearch): readonly string[] =>
  assignee === undefined ? [] : [...new Set(assignee.split(",").filter((name) => name !== ""))];

export const hasFilter = ({ q, assignee, tenant }: BoardSearch): boolean =>
  q !== undefined || assignee !== undefined || tenant !== undefined;

/** The query for the cards of an address. */
export function cardsQueryOf(search: BoardSearch): CardsQuery {
  const names = assigneesOf(search).map((name) => (name === UNASSIGNED ? "" : name));
  return {
    ...(search.q !== undefined && { q: search.q }),
    ...(names.length > 0 && { assignee: names.join(",") }),
    ...(search.tenant !== undefined && { tenant: search.tenant }),
    ...(search.sort !== undefined && { order: search.sort }),
  };
}

/** Whether a card matches the filter, by the same rules as on the server; undefined without a filter. */
export function matcherOf(search: BoardSearch): ((card: Card) => boolean) | undefined {
  if (!hasFilter(search)) return undefined;
  const names = assigneesOf(search);
  const words = (search.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return (card) => {
    if (names.length > 0 && !names.includes(card.assignee ?? UNASSIGNED)) return false;
    if (search.tenant !== undefined && card.tenant !== search.tenant) return false;
    const title = card.title.toLowerCase();
    return words.every(
      (word) =>
        title.includes(word) ||
        word.replace("#", "") === String(card.seq) ||
        (/^t_[0-9a-f]+$/.test(word) && card.id.startsWith(word)),
    );
  };
}
