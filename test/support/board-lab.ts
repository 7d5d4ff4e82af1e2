import { randomBytes } from "node:crypto";
import pg from "pg";
import { boardPath, boardSchemaName } from "../../src/board/board-slug.ts";
import {
  type BoardPlace,
  type BoardStore,
  type BoardStoreOptions,
  openBoardStore,
} from "../../src/board/board-store.ts";
import type { Caller } from "../../src/board/caller.ts";
import type { ClaimedTask, ClaimRequest } from "../../src/board/operations/claim.ts";
import type { NewTask } from "../../src/board/operations/create-task.ts";
import type { Run, Task } from "../../src/board/task.ts";
import type { Status } from "../../src/board/transitions.ts";
import { AppError } from "../../src/lib/errors.ts";
import { loadSqlite } from "../../src/lib/sqlite.ts";
import { tempFolder } from "./temp-folder.ts";
import { TurnableClock } from "./turnable-clock.ts";

/** A place for a board of one test, with a clock that stands still and a way around the store. */
export interface BoardLab extends AsyncDisposable {
  readonly place: BoardPlace;
  open(options?: BoardStoreOptions): Promise<BoardStore>;
  now(): number;
  advance(ms: number): Promise<void>;
  /** Statements of the database's own, past all rules of the store. */
  raw<Row>(sql: string): Promise<readonly Row[]>;
}

const never = new AbortController().signal;

export async function openSqliteLab(): Promise<BoardLab> {
  const folder = await tempFolder();
  const place: BoardPlace = { root: folder.path, databaseUrl: "", slug: "lab", create: true };
  const clock = new TurnableClock();
  return {
    place,
    open: (options = {}) => openBoardStore(place, { clock, ...options }, never),
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    async raw<Row>(sql: string) {
      const Sqlite = await loadSqlite();
      const connection = new Sqlite(boardPath(place.root, place.slug), { timeout: 150_000 });
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

/** In a schema of its own on the server at `url`; removed at the end. */
export async function openPostgresLab(url: string): Promise<BoardLab> {
  const place: BoardPlace = {
    root: "/nowhere",
    databaseUrl: url,
    slug: `lab-${randomBytes(8).toString("hex")}`,
    create: true,
  };
  const schema = boardSchemaName(place.slug);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let now = Date.UTC(2026, 0, 1);
  const turn = (): Promise<unknown> =>
    client.query(
      `create or replace function "${schema}".hermes_now() returns bigint language sql stable as 'select ${now}::bigint'`,
    );
  await (await openBoardStore(place, {}, never))[Symbol.asyncDispose]();
  await turn();
  await client.query(`set search_path to "${schema}"`);
  return {
    place,
    open: (options = {}) => openBoardStore(place, options, never),
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
export async function exported(store: BoardStore, options: { portable?: boolean } = {}): Promise<string[]> {
  const lines: string[] = [];
  await store.export(options, (line) => void lines.push(line), never);
  return lines;
}

/** A lab with its board open, and the callers that most tests need. */
export async function openStage(openLab: () => Promise<BoardLab>) {
  const lab = await openLab();
  const store = await lab.open();
  const operator = store.as({ kind: "operator", name: "alice" });
  const system = store.as({ kind: "system", name: "dispatcher" });
  const claim = async (id: string, options: Partial<ClaimRequest> = {}): Promise<ClaimedTask> => {
    const { claimed, refused } = await system.claim({ ...CLAIM, ...options, wanted: [id] }, never);
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
      (await operator.create({ title, assignee: "worker", ...details }, never)).task,
    /** The worker of a run that was claimed. */
    worker: ({ task, run, token }: ClaimedTask) => store.as(runCaller(task, run, token)),
    statusOf: async (id: string): Promise<Status> => (await store.show(id, never)).task.status,
    kinds: async (id: string): Promise<string[]> =>
      (await store.show(id, never)).events.map(({ kind }) => kind),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}

export const CLAIM = { from: "ready", leaseMs: 30_000, hostId: "host-1" } as const;

export function runCaller(task: Task, { id: runId, profile }: Run, token: string): Caller {
  return { kind: "run", profile: profile ?? "nobody", taskId: task.id, runId, token };
}

/** The code of the known failure that `action` ends with, or undefined when it succeeds. */
export async function codeOf(action: Promise<unknown>): Promise<string | undefined> {
  try {
    await action;
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}
