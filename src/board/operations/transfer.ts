import { AppError, messageOf } from "../../lib/errors.ts";
import type { SqlValue } from "../../lib/statement.ts";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, only, run, type Steps } from "../database/steps.ts";
import { insertContent } from "./notes.ts";
import { type Rewriting, type Row, withoutHost } from "./portable-content.ts";
import { recountRuns } from "./upkeep.ts";

/** Each table in the order of what needs what, and the columns that give its rows a fixed order. */
const TABLES = {
  counter: "name",
  task: "seq",
  link: "parent_id, child_id",
  run: "id",
  comment: "id",
  event: "id",
  attachment: "id",
  subscription: "task_id, platform, chat_id, thread_id",
} as const;
type Table = keyof typeof TABLES;
/** Those whose numbers the database gives. */
const NUMBERED: readonly Table[] = ["task", "run", "comment", "attachment"];

const FORMAT = 1;

interface Header {
  readonly hermes_board: number;
  readonly board: Readonly<Record<string, SqlValue>>;
}

const PAGE = 500;
const AS_IT_IS: Rewriting = { board: (row) => row, row: (_, row) => row, added: {} };

/**
 * Gives `write` the whole board as lines of JSON, the same ones from whichever database, a page at a time. Tokens of runs
 * are left out: whoever reads an export must not be able to act as a worker. The content of attachments is carried apart
 * from the rows. With `portable` it is for other people and hosts: without claims, processes, subscriptions and paths.
 */
export function* exportLines(
  { portable = false }: { readonly portable?: boolean },
  write: (line: string) => void,
): Steps<void> {
  const rewriting = portable ? yield* portableRewriting() : AS_IT_IS;
  const { id: _, identity: __, ...board } = yield* only<Row>("select * from board");
  const header = { hermes_board: FORMAT, board: inOrder(rewriting.board(board)) } satisfies Header;
  write(JSON.stringify(header));
  for (const [table, order] of Object.entries(TABLES)) {
    const writeRow = ({ lease_token: _, content_key: __, ...row }: Row): void => {
      const kept = rewriting.row(table, row);
      if (kept !== undefined) write(JSON.stringify({ table, row: inOrder(kept) }));
    };
    const keys = order.split(", ");
    // A counter that has come back to 0 says no more than one that was never there.
    const which = table === "counter" ? "(value > 0 or name in ('event', 'running'))" : "1 = 1";
    for (let last: Row | undefined; ; ) {
      const after = last === undefined ? "" : `and (${order}) > (${keys.map((key) => `:${key}`).join(", ")})`;
      const rows: readonly Row[] = yield* all<Row>(
        `select * from ${table} where ${which} ${after} order by ${order} limit ${PAGE}`,
        Object.fromEntries(keys.flatMap((key) => (last === undefined ? [] : [[key, last[key] ?? null]]))),
      );
      for (const row of rows) writeRow(row);
      last = rows.at(-1);
      if (rows.length < PAGE) break;
    }
    for (const row of rewriting.added[table] ?? []) write(JSON.stringify({ table, row: inOrder(row) }));
  }
}

function* portableRewriting(): Steps<Rewriting> {
  const { now } = yield* only<{ now: number }>("select hermes_now() as now");
  const open = yield* all<Row>("select * from run where ended_at is null order by id");
  const { value } = yield* only<{ value: number }>("select value from counter where name = 'event'");
  return withoutHost(open, value, now);
}

/** The same row is the same line, whichever database it comes from. */
function inOrder(row: Row): Row {
  return Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Throws `board-not-empty` unless nothing has ever happened on this board. */
function* requireEmpty(): Steps<void> {
  yield* only("select id from board {lock}");
  const { value } = yield* only<{ value: number }>("select value from counter where name = 'event'");
  const { count } = yield* only<{ count: number }>("select count(*) as count from task");
  if (value > 0 || count > 0) throw new AppError("board-not-empty", "There are tasks on this board already.");
}

/** What an import puts into the database beside its rows. */
export interface ImportedContent {
  /** How many bytes of attachments the database may hold for this board. */
  readonly limitBytes: number;
  /** The content of an attachment; undefined when the export came without it. */
  read(attachment: Row): Uint8Array | undefined;
}

/**
 * Puts all lines of an export into an empty board, in one transaction: all of it or nothing. The lines are read one by
 * one, and again from the start when the transaction has to be repeated.
 */
export function* importLines(
  change: Change,
  lines: Iterable<string>,
  content: ImportedContent | undefined,
): Steps<number> {
  requireRight(change.caller, "maintain");
  yield* requireEmpty();
  const columns = new Map<Table, ReadonlySet<string>>();
  let number = 0;
  for (const line of lines) {
    number += 1;
    if (number === 1) {
      yield* setBoard(parseHeader(line));
      yield* run("delete from counter");
      continue;
    }
    const { table, row } = parseRow(line, number);
    const known = columns.get(table) ?? new Set(Object.keys(yield* emptyRow(table)));
    columns.set(table, known);
    const unknown = Object.keys(row).find((name) => !known.has(name));
    if (unknown !== undefined)
      throw new AppError(
        "board-import-invalid",
        `Line ${number}: ${table} has no column ${JSON.stringify(unknown)}.`,
      );
    const bytes = table === "attachment" ? content?.read(row) : undefined;
    if (content === undefined || bytes === undefined) yield* insert(table, row);
    else {
      const key = yield* insertContent({ bytes, limitBytes: content.limitBytes });
      yield* insert(table, { ...row, content_key: key, stored_path: row["filename"] ?? null });
    }
  }
  if (number === 0) parseHeader("");
  for (const table of NUMBERED) yield* all(`{continue:${table}}`);
  yield* recountRuns();
  return number - 1;
}

function parseHeader(line: string): Header["board"] {
  const header = parseLine(line, 1) as Partial<Header>;
  if (header.hermes_board !== FORMAT || typeof header.board !== "object" || header.board === null)
    throw new AppError("board-import-invalid", `Line 1 is not the start of a board of format ${FORMAT}.`);
  return header.board;
}

/** A board keeps its own slug, whatever the one was called that it is made from. */
function* setBoard(columns: Readonly<Record<string, SqlValue>>): Steps<void> {
  const known = [
    "name",
    "description",
    "icon",
    "color",
    "default_workdir",
    "paused",
    "created_at",
    "events_kept_from",
    "runs_purged_to",
  ];
  const entries = Object.entries(columns).filter(
    ([name, value]) => known.includes(name) && isSqlValue(value),
  );
  const sets = entries.map(([name]) => `${name} = :${name}`);
  if (sets.length > 0) yield* run(`update board set ${sets.join(", ")}`, Object.fromEntries(entries));
}

/** The names of a table's columns, by a row that has no values. */
function* emptyRow(table: Table): Steps<Record<string, SqlValue>> {
  return yield* only(`select t.* from (select 1 as one) as always left join ${table} t on 1 = 0`);
}

function* insert(table: Table, row: Readonly<Record<string, SqlValue>>): Steps<void> {
  const full =
    table === "run"
      ? {
          ...row,
          lease_token: crypto.randomUUID(),
          ...(row["ended_at"] !== null && { lease_until: 0 }), // its processes are none of this board's
        }
      : row;
  const names = Object.keys(full);
  yield* run(
    `insert into ${table} (${names.join(", ")}) values (${names.map((name) => `:${name}`).join(", ")})`,
    full,
  );
}

function parseRow(line: string, number: number): { table: Table; row: Readonly<Record<string, SqlValue>> } {
  const { table, row } = parseLine(line, number) as { table?: unknown; row?: unknown };
  const isTable = typeof table === "string" && Object.hasOwn(TABLES, table);
  const isRow = typeof row === "object" && row !== null && Object.values(row).every(isSqlValue);
  if (!isTable || !isRow || "lease_token" in row)
    throw new AppError("board-import-invalid", `Line ${number} is not a row of a board.`);
  return { table: table as Table, row: row as Readonly<Record<string, SqlValue>> };
}

function isSqlValue(value: unknown): boolean {
  return value === null || typeof value === "string" || Number.isSafeInteger(value);
}

function parseLine(line: string, number: number): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) return value;
    throw new SyntaxError("not an object");
  } catch (error) {
    throw new AppError("board-import-invalid", `Line ${number}: ${messageOf(error)}`, { cause: error });
  }
}
