import { AppError, messageOf } from "../../../lib/errors.ts";
import type { SqlValue } from "../../../lib/sqlite/statement.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, only, run, type Steps } from "../../database/steps.ts";
import { insertContent } from "../records/attachments.ts";
import { checkContent, recountRuns } from "./maintain-board.ts";
import { type ExportRewrite, portableRewrite, type Row } from "./portable-content.ts";

/** The tables in dependency order, with the columns that sort their rows. */
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
/** Tables whose ids the database generates. */
const NUMBERED: readonly Table[] = ["task", "run", "comment", "attachment"];

const FORMAT = 2;
/** The format of earlier versions, which has no trailer. */
const FORMAT_WITHOUT_TRAILER = 1;

interface Header {
  readonly hermes_board: number;
  readonly board: Row;
}

/** The last line of an export. An export without a trailer was cut off. */
interface Trailer {
  readonly end: { readonly rows: number };
}

const PAGE = 500;
const UNCHANGED: ExportRewrite = { board: (row) => row, row: (_, row) => row, addedRows: {} };

/**
 * Passes the whole board to `write` as lines of JSON, read page by page; both databases produce the same lines. Run tokens are
 * omitted, so that an export does not let its reader act as a worker. The content of attachments is exported separately,
 * before the trailer. `portable` is for other users and hosts: it omits claims, processes, subscriptions and paths.
 */
export function* exportLines(
  { portable = false }: { readonly portable?: boolean },
  write: (line: string) => void,
): Steps<void> {
  const rewriting = portable ? yield* portableRewriting() : UNCHANGED;
  const { id: _, identity: __, ...board } = yield* only<Row>("select * from board");
  const header = { hermes_board: FORMAT, board: sortKeys(rewriting.board(board)) } satisfies Header;
  write(JSON.stringify(header));
  let written = 0;
  const writeLine = (table: string, row: Row): void => {
    write(JSON.stringify({ table, row: sortKeys(row) }));
    written += 1;
  };
  for (const [table, order] of Object.entries(TABLES)) {
    const writeRow = ({ lease_token: _, content_key: __, ...row }: Row): void => {
      const kept = rewriting.row(table, row);
      if (kept !== undefined) writeLine(table, kept);
    };
    const keys = order.split(", ");
    // A counter of 0 is equivalent to a missing counter.
    const filter = table === "counter" ? "(value > 0 or name in ('event', 'running'))" : "1 = 1";
    for (let last: Row | undefined; ; ) {
      const after = last === undefined ? "" : `and (${order}) > (${keys.map((key) => `:${key}`).join(", ")})`;
      const rows: readonly Row[] = yield* all<Row>(
        `select * from ${table} where ${filter} ${after} order by ${order} limit ${PAGE}`,
        Object.fromEntries(keys.flatMap((key) => (last === undefined ? [] : [[key, last[key] ?? null]]))),
      );
      for (const row of rows) writeRow(row);
      last = rows.at(-1);
      if (rows.length < PAGE) break;
    }
    for (const row of rewriting.addedRows[table] ?? []) writeLine(table, row);
  }
  write(JSON.stringify({ end: { rows: written } } satisfies Trailer));
}

function* portableRewriting(): Steps<ExportRewrite> {
  const { now } = yield* only<{ now: number }>("select hermes_now() as now");
  const open = yield* all<Row>("select * from run where ended_at is null order by id");
  const { value } = yield* only<{ value: number }>("select value from counter where name = 'event'");
  return portableRewrite(open, value, now);
}

/** Sorts the columns, so that both databases produce the same line for the same row. */
function sortKeys(row: Row): Row {
  return Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Throws `board-not-empty` when the board has or ever had tasks or events. */
export function* requireEmpty(): Steps<void> {
  const { value } = yield* only<{ value: number }>("select value from counter where name = 'event'");
  const { count } = yield* only<{ count: number }>("select count(*) as count from task");
  if (value > 0 || count > 0) throw new AppError("board-not-empty", "The board already has tasks or events.");
}

/** The attachment content that an import stores in the database. */
export interface ImportedContent {
  /** Maximum total bytes of attachments that the database may store for this board. */
  readonly limitBytes: number;
  /** The content of an attachment; undefined when the export does not contain it. */
  read(attachment: Row): Uint8Array | undefined;
}

/** Imports an export into an empty board; returns the number of rows. A repeated transaction reads the lines again. */
export function* importLines(
  transaction: BoardTransaction,
  lines: Iterable<string>,
  content: ImportedContent | undefined,
): Steps<number> {
  requireRight(transaction.caller, "maintain");
  yield* only("select id from board {lock}");
  yield* requireEmpty();
  const columns = new Map<Table, ReadonlySet<string>>();
  let number = 0;
  let format = FORMAT;
  let announced: number | undefined;
  for (const line of lines) {
    number += 1;
    if (number === 1) {
      const header = parseHeader(line);
      format = header.hermes_board;
      yield* setBoard(header.board);
      yield* run("delete from counter");
      continue;
    }
    if (announced !== undefined)
      throw new AppError("board-import-invalid", `Line ${number} follows the last line of the export.`);
    announced = findRowCount(line, number);
    if (announced !== undefined) continue;
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
    // The exported board may still continue the sessions of its runs, and two boards must not share one.
    if (table === "run") yield* insert(table, { ...row, session_id: null });
    else if (content === undefined || bytes === undefined) yield* insert(table, row);
    else {
      const key = yield* insertContent({ bytes, limitBytes: content.limitBytes });
      yield* insert(table, { ...row, content_key: key, stored_path: row["filename"] ?? null });
    }
  }
  if (number === 0) parseHeader("");
  for (const table of NUMBERED) yield* all(`{continue:${table}}`);
  yield* recountRuns();
  yield* run("update task set completed_at = updated_at where status = 'done' and completed_at is null");
  const rows = number - (announced === undefined ? 1 : 2);
  if (announced === undefined && format === FORMAT_WITHOUT_TRAILER) yield* requireConsistent();
  else if (announced === undefined)
    throw incompleteExport(`its last line is missing. It was cut off after line ${number}`);
  else if (announced !== rows) throw incompleteExport(`it contains ${rows} of its ${announced} rows`);
  return rows;
}

/** Refuses an export without a trailer when the imported board shows that rows are missing. */
function* requireConsistent(): Steps<void> {
  const counters = yield* all("select name from counter where name in ('event', 'running')");
  if (counters.length < 2) throw incompleteExport("its counters are missing");
  const [finding] = yield* checkContent();
  if (finding !== undefined) throw incompleteExport(finding);
  // Only garbage collection may delete the newest event.
  const lost = yield* all(
    `select 1 as one from board b where b.events_kept_from = 0 and coalesce((select max(id) from event), 0)
       < (select value from counter where name = 'event')`,
  );
  if (lost.length > 0) throw incompleteExport("its last events are missing");
}

function incompleteExport(why: string): AppError {
  return new AppError("board-import-invalid", `The export is incomplete: ${why}.`);
}

/** The number of rows in a trailer; undefined for another line. */
function findRowCount(line: string, number: number): number | undefined {
  if (!line.startsWith('{"end":')) return undefined;
  const { end } = parseLine(line, number) as Partial<Trailer>;
  return Number.isSafeInteger(end?.rows) ? end?.rows : undefined;
}

function parseHeader(line: string): Header {
  const { hermes_board, board } = parseLine(line, 1) as Partial<Header>;
  const isKnown = hermes_board === FORMAT || hermes_board === FORMAT_WITHOUT_TRAILER;
  if (!isKnown || typeof board !== "object" || board === null)
    throw new AppError(
      "board-import-invalid",
      `Line 1 is not the header of a board export of format ${FORMAT}.`,
    );
  return { hermes_board, board };
}

/** Sets the columns of the board. The board keeps its own slug, which may differ from that of the export. */
function* setBoard(columns: Row): Steps<void> {
  const { id: _, slug: __, identity: ___, ...known } = yield* only<Row>("select * from board");
  const entries = Object.entries(columns).filter(([name, value]) => name in known && isSqlValue(value));
  const sets = entries.map(([name]) => `${name} = :${name}`);
  if (sets.length > 0) yield* run(`update board set ${sets.join(", ")}`, Object.fromEntries(entries));
}

/** A row of nulls, which gives the column names even when the table is empty. */
function* emptyRow(table: Table): Steps<Record<string, SqlValue>> {
  return yield* only(`select t.* from (select 1 as one) as always left join ${table} t on 1 = 0`);
}

function* insert(table: Table, row: Row): Steps<void> {
  const added: Row = table === "run" ? { lease_token: crypto.randomUUID() } : {};
  // The processes of an ended run do not belong to this board.
  const ended: Row = table === "run" && row["ended_at"] !== null ? { lease_until: 0 } : {};
  const full = { ...row, ...added, ...ended };
  const names = Object.keys(full);
  const values = names.map((name) => `:${name}`).join(", ");
  yield* run(`insert into ${table} (${names.join(", ")}) values (${values})`, full);
}

function parseRow(line: string, number: number): { table: Table; row: Row } {
  const { table, row } = parseLine(line, number) as { table?: unknown; row?: unknown };
  const isTable = typeof table === "string" && Object.hasOwn(TABLES, table);
  const isRow = typeof row === "object" && row !== null && Object.values(row).every(isSqlValue);
  if (!isTable || !isRow || "lease_token" in row)
    throw new AppError("board-import-invalid", `Line ${number} is not a row of a board export.`);
  return { table: table as Table, row: row as Row };
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
