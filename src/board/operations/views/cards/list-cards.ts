import { all, only, type SqlValues, type Steps } from "../../../database/steps.ts";
import { invalidInput } from "../../../task-text.ts";
import { STATUSES, type Status } from "../../../transitions.ts";
import { caseVariants } from "../list-details.ts";
import { parseCursor } from "../list-tasks.ts";
import { buildCards, type CardSettings } from "./build-cards.ts";
import { type BoardCard, CARD_COLUMNS, type CardRow } from "./card.ts";

/** Sort orders within a column; the task number breaks ties. */
const CARD_ORDERS = {
  priority: { key: "t.priority", descending: true },
  created: { key: "t.seq", descending: true },
  updated: { key: "t.updated_at", descending: true },
  title: { key: "t.title", descending: false },
} as const satisfies Record<string, { key: string; descending: boolean }>;

interface Order {
  readonly key: string;
  readonly descending: boolean;
}

export interface CardQuery {
  /** The columns to read; all but the archived one by default. */
  readonly statuses?: readonly Status[];
  /** Null selects unassigned tasks. */
  readonly assignees?: readonly (string | null)[];
  readonly tenant?: string;
  /** Words that the title contains, or a number or the start of an id. */
  readonly text?: string;
  /** By default open columns are sorted by priority, done and archived ones by when their tasks ended. */
  readonly order?: keyof typeof CARD_ORDERS;
  /** The `next` cursor of the previous page; only with one status. */
  readonly after?: string;
}

export interface CardColumn {
  readonly status: Status;
  /** The number of matching tasks with this status. */
  readonly count: number;
  readonly cards: readonly BoardCard[];
  readonly next: string | null;
}

export interface BoardCards {
  readonly columns: readonly CardColumn[];
  /** The number of the board's last event. */
  readonly lastEvent: number;
  readonly now: number;
}

const FIRST_PAGE = 50;
const PAGE = 200;

/** Reads the first cards of each column, or the next page of one column, at a cost independent of the columns' lengths. */
export function* listCards(query: CardQuery, settings: CardSettings): Steps<BoardCards> {
  const statuses = query.statuses ?? STATUSES.filter((status) => status !== "archived");
  if (query.after !== undefined && statuses.length !== 1)
    throw invalidInput("A page cursor belongs to one status.");
  const filter = filterOf(query);
  const counts = yield* countTasks(filter);
  const pages: { readonly status: Status; readonly rows: readonly SortedRow[]; readonly limit: number }[] =
    [];
  const limit = query.after === undefined ? FIRST_PAGE : PAGE;
  for (const status of statuses)
    pages.push({
      status,
      limit,
      rows: (counts[status] ?? 0) === 0 ? [] : yield* readPage(status, query, filter, limit),
    });
  const shown = pages.flatMap((page) => page.rows.slice(0, page.limit));
  const cards = new Map((yield* buildCards(shown, settings)).map((card) => [card.id, card]));
  return {
    columns: pages.map(({ status, rows }) => {
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return {
        status,
        count: counts[status] ?? 0,
        cards: page.flatMap(({ id }) => cards.get(id) ?? []),
        next: last === undefined ? null : JSON.stringify([last.sort_key, last.seq]),
      };
    }),
    ...(yield* readBoardTime()),
  };
}

/** The cards of the given tasks; omits deleted tasks. */
export function* findCards(ids: readonly string[], settings: CardSettings): Steps<readonly BoardCard[]> {
  const rows = yield* all<CardRow>(`select ${CARD_COLUMNS} from task t where t.id {among:ids}`, {
    ids: JSON.stringify(ids),
  });
  return yield* buildCards(rows, settings);
}

interface Filter {
  readonly where: string;
  readonly values: SqlValues;
}

/** The number of tasks in each status. */
export function* countTasks(
  { where, values }: Filter = { where: "", values: {} },
): Steps<Readonly<Record<Status, number>>> {
  const rows = yield* all<{ status: Status; count: number }>(
    `select t.status, count(*) as count from task t where true ${where} group by t.status`,
    values,
  );
  const zero = Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<Status, number>;
  return { ...zero, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) };
}

function* readBoardTime(): Steps<{ readonly lastEvent: number; readonly now: number }> {
  return yield* only(`select value as "lastEvent", hermes_now() as now from counter where name = 'event'`);
}

interface SortedRow extends CardRow {
  readonly sort_key: string | number;
}

/** Ended tasks are selected by their end, because that column has an index in the right order. */
const ENDED: Partial<Record<Status, Order & { readonly where: string }>> = {
  done: {
    key: "t.completed_at",
    descending: true,
    where: "t.completed_at is not null and t.archived_at is null and coalesce(t.status, '') = 'done'",
  },
  archived: { key: "t.archived_at", descending: true, where: "t.archived_at is not null" },
};

/** Reads one row more than the limit, which shows whether there is another page. */
function* readPage(
  status: Status,
  query: CardQuery,
  filter: Filter,
  limit: number,
): Steps<readonly SortedRow[]> {
  const ended = query.order === undefined ? ENDED[status] : undefined;
  const { key, descending }: Order = ended ?? CARD_ORDERS[query.order ?? "priority"];
  const values: Record<string, string | number> = { limit: limit + 1 };
  const isNumbered = key === "t.seq";
  // Ties: ended tasks by descending number, open tasks by ascending number.
  const [seqOrder, seqBeyond] = ended === undefined && !isNumbered ? ["", ">"] : ["desc", "<"];
  let beyond = "";
  if (query.after !== undefined) {
    const from = parseCursor(query.after);
    const bound = `cast(:key as ${typeof from.key === "string" ? "text" : "bigint"})`;
    const tie = isNumbered ? "" : `or (${key} = ${bound} and t.seq ${seqBeyond} :after_seq)`;
    beyond = `and (${key} ${descending ? "<" : ">"} ${bound} ${tie})`;
    values["key"] = from.key;
    if (!isNumbered) values["after_seq"] = from.seq;
  }
  const where = ended?.where ?? "t.status = :status";
  if (ended === undefined) values["status"] = status;
  const order = isNumbered ? "t.seq desc" : `${key} ${descending ? "desc" : ""}, t.seq ${seqOrder}`;
  return yield* all<SortedRow>(
    `select ${CARD_COLUMNS}, ${key} as sort_key from task t
      where ${where} ${filter.where} ${beyond} order by ${order} limit cast(:limit as bigint)`,
    { ...filter.values, ...values },
  );
}

const NUMBER = /^#?(\d{1,15})$/;
const ID_PREFIX = /^t_[0-9a-f]{1,12}$/;
const MAX_WORDS = 8;

function filterOf({ assignees, tenant, text = "" }: CardQuery): Filter {
  const conditions: string[] = [];
  const values: Record<string, string | number> = {};
  if (assignees !== undefined) {
    conditions.push("coalesce(t.assignee, '') {among:assignees}");
    values["assignees"] = JSON.stringify(assignees.map((name) => name ?? ""));
  }
  if (tenant !== undefined) {
    conditions.push("t.tenant = :tenant");
    values["tenant"] = tenant;
  }
  for (const [index, word] of text.trim().split(/\s+/).slice(0, MAX_WORDS).entries()) {
    if (word === "") continue;
    const matches = caseVariants(word).map((variant, number) => {
      const name = `word${index}_${number}`;
      values[name] = `%${variant.replaceAll(/[!%_]/g, "!$&")}%`;
      return `lower(t.title) like :${name} escape '!'`;
    });
    const number = NUMBER.exec(word)?.[1];
    if (number !== undefined) {
      matches.push(`t.seq = :number${index}`);
      values[`number${index}`] = Number(number);
    }
    if (ID_PREFIX.test(word.toLowerCase())) {
      matches.push(`t.id like :id${index}`);
      values[`id${index}`] = `${word.toLowerCase()}%`;
    }
    conditions.push(`(${matches.join(" or ")})`);
  }
  return { where: conditions.map((condition) => `and ${condition}`).join(" "), values };
}
