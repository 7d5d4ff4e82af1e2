import { randomBytes } from "node:crypto";
import pg from "pg";
import { boardPath, boardSchemaName } from "../../src/board/board-slug.ts";
import { type BoardStore, openBoardStore } from "../../src/board/board-store.ts";
import type { Caller } from "../../src/board/caller.ts";
import type { BoardLocation, OpenBoardOptions } from "../../src/board/open-board.ts";
import type { ClaimedTask, ClaimRequest } from "../../src/board/operations/runs/claim.ts";
import type { NewTask } from "../../src/board/operations/tasks/create-task.ts";
import type { Run, Task } from "../../src/board/task.ts";
import type { Status } from "../../src/board/transitions.ts";
import { AppError } from "../../src/lib/errors.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { tempFolder } from "./temp-folder.ts";
import { TurnableClock } from "./turnable-clock.ts";

/** The location of a board for one test, with a controlled clock and direct access to the database. */
export interface BoardLab extends AsyncDisposable {
  readonly location: BoardLocation;
  open(options?: OpenBoardOptions): Promise<BoardStore>;
  now(): number;
  advance(ms: number): Promise<void>;
  /** Runs SQL directly, without the rules of the store. */
  raw<Row>(sql: string): Promise<readonly Row[]>;
}

export async function openSqliteLab(): Promise<BoardLab> {
  const folder = await tempFolder();
  const location: BoardLocation = { root: folder.path, databaseUrl: "", slug: "lab", create: true };
  const clock = new TurnableClock();
  return {
    location,
    open: (options = {}) => openBoardStore(location, { clock, ...options }, neverAborted),
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    async raw<Row>(sql: string) {
      const Sqlite = await loadSqlite();
      const connection = new Sqlite(boardPath(location.root, location.slug), { timeout: 150_000 });
      try {
        const statement = connection.prepare<[], Row>(sql);
        if (statement.reader) return statement.all();
        statement.run();
        return [];
      } finally {
        connection.close();
      }
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** In its own schema on the server at `url`, which is removed at the end. */
export async function openPostgresLab(url: string): Promise<BoardLab> {
  const location: BoardLocation = {
    root: "/nowhere",
    databaseUrl: url,
    slug: `lab-${randomBytes(8).toString("hex")}`,
    create: true,
  };
  const schema = boardSchemaName(location.slug);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let now = Date.UTC(2026, 0, 1);
  const turn = (): Promise<unknown> =>
    client.query(
      `create or replace function "${schema}".hermes_now() returns bigint language sql stable as 'select ${now}::bigint'`,
    );
  await (await openBoardStore(location, {}, neverAborted))[Symbol.asyncDispose]();
  await turn();
  await client.query(`set search_path to "${schema}"`);
  return {
    location,
    open: (options = {}) => openBoardStore(location, options, neverAborted),
    now: () => now,
    async advance(ms) {
      now += ms;
      await turn();
    },
    raw: async <Row>(sql: string) => (await client.query(sql)).rows as Row[],
    async [Symbol.asyncDispose]() {
      await client.query(`drop schema "${schema}" cascade`);
      await client.end();
    },
  };
}

/** The lines of an export. */
export async function exportedLines(
  store: BoardStore,
  options: { portable?: boolean } = {},
): Promise<string[]> {
  const lines: string[] = [];
  await store.export(options, (line) => void lines.push(line), neverAborted);
  return lines;
}

/** A lab with its board open, and the callers that most tests need. */
export async function openStage(openLab: () => Promise<BoardLab>) {
  const lab = await openLab();
  const store = await lab.open();
  const operator = store.as({ kind: "operator", name: "alice" });
  const system = store.as({ kind: "system", name: "dispatcher" });
  const claim = async (id: string, options: Partial<ClaimRequest> = {}): Promise<ClaimedTask> => {
    const { claimed, refused } = await system.claim({ ...CLAIM, ...options, taskIds: [id] }, neverAborted);
    const [first] = claimed;
    if (first === undefined) throw new Error(`not claimed: ${JSON.stringify(refused)}`);
    return first;
  };
  return {
    lab,
    store,
    operator,
    system,
    claim,
    /** A new task; ready unless the details say otherwise. */
    add: async (title: string, details: Partial<NewTask> = {}): Promise<Task> =>
      (await operator.create({ title, assignee: "worker", ...details }, neverAborted)).task,
    /** The board as the worker of a claimed run. */
    worker: ({ task, run, token }: ClaimedTask) => store.as(runCaller(task, run, token)),
    statusOf: async (id: string): Promise<Status> => (await store.show(id, neverAborted)).task.status,
    kinds: async (id: string): Promise<string[]> =>
      (await store.show(id, neverAborted)).events.map(({ kind }) => kind),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}

export const CLAIM = { from: "ready", leaseMs: 30_000, hostId: "host-1" } as const;

/** Claims the first ready tasks as a dispatcher does: lists them and then claims them by their ids. */
export async function claimNext(store: BoardStore, count: number, request: Partial<ClaimRequest> = {}) {
  const { tasks } = await store.list({ status: "ready", limit: 1_000 }, neverAborted);
  const free = tasks.filter(({ hold, not_before }) => !hold && not_before === null);
  const taskIds = free.slice(0, count).map(({ id }) => id);
  return store
    .as({ kind: "system", name: "dispatcher" })
    .claim({ ...CLAIM, ...request, taskIds }, neverAborted);
}

export function runCaller(task: Task, { id: runId, profile }: Run, token: string): Caller {
  return { kind: "run", profile: profile ?? "nobody", taskId: task.id, runId, token };
}

/** The error code of a failed `action`, or undefined if it succeeds. */
export async function codeOf(action: Promise<unknown>): Promise<string | undefined> {
  try {
    await action;
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}
