import { randomBytes } from "node:crypto";
import { access } from "node:fs/promises";
import { type Clock, systemClock } from "../lib/clock.ts";
import { AppError, errnoOf, messageOf } from "../lib/errors.ts";
import { boardNameOf, boardPath, boardSchemaName, DEFAULT_BOARD, parseBoardSlug } from "./board-slug.ts";
import type { Caller } from "./caller.ts";
import { Change } from "./change.ts";
import type { BoardDatabase } from "./database/board-database.ts";
import { openPostgresBoard } from "./database/postgres-board-database.ts";
import { openSqliteBoard } from "./database/sqlite-board-database.ts";
import { first, only, run, type Steps } from "./database/steps.ts";
import { recentDispatchers } from "./dispatcher/living-dispatchers.ts";
import { hostName } from "./dispatcher/operations/board-lease.ts";
import { answerTask } from "./operations/answer-task.ts";
import { claimIds, claimTasks } from "./operations/claim.ts";
import { createPlan } from "./operations/create-plan.ts";
import { createTask } from "./operations/create-task.ts";
import { decomposeTask } from "./operations/decompose.ts";
import { describeBoard } from "./operations/describe-board.ts";
import { diagnose } from "./operations/diagnose.ts";
import {
  blockTask,
  completeTask,
  reopenReview,
  requestChanges,
  requestReview,
  scheduleTask,
} from "./operations/finish.ts";
import { glanceAtTasks, nameTasks, searchTasks } from "./operations/glance.ts";
import { acquireLease, releaseLease, renewLease } from "./operations/leases.ts";
import { seeEnd } from "./operations/leaving.ts";
import { linkTasks, unlinkTasks } from "./operations/links.ts";
import { toRun } from "./operations/load.ts";
import {
  boardStats,
  countByAssignee,
  eventsAfter,
  findRun,
  findTasks,
  listAttachments,
  listTasks,
  loadBoard,
  showTask,
} from "./operations/look.ts";
import {
  archiveTask,
  assignTask,
  editTask,
  holdTask,
  pauseBoard,
  promoteTask,
  purgeTask,
  reopenTask,
  specifyTask,
  unblockTask,
} from "./operations/manage.ts";
import {
  addAttachment,
  addComment,
  attachmentPart,
  removeAttachment,
  subscribe,
  takeEvents,
  tellDiscarded,
  unsubscribe,
} from "./operations/notes.ts";
import { renameProfileOnBoard, workOfProfile } from "./operations/profile-names.ts";
import { recompute } from "./operations/recompute.ts";
import { retryTask } from "./operations/retry-task.ts";
import {
  describeRun,
  endRun,
  expiredRuns,
  reclaimExpired,
  releaseTask,
  renewRun,
} from "./operations/runs.ts";
import { exportLines, type ImportedContent, importLines } from "./operations/transfer.ts";
import { checkContent, collectGarbage, repairCounters } from "./operations/upkeep.ts";
import { workerContext } from "./operations/worker-context.ts";

/** What changes a board. Each is one transaction, with its events and the rights of its caller. */
const WRITES = {
  create: createTask,
  plan: createPlan,
  assign: assignTask,
  renameProfile: renameProfileOnBoard,
  edit: editTask,
  link: linkTasks,
  unlink: unlinkTasks,
  claim: claimTasks,
  claimIds,
  release: releaseTask,
  renew: renewRun,
  describeRun,
  endRun,
  seeEnd,
  reclaimExpired,
  comment: addComment,
  attach: addAttachment,
  removeAttachment,
  subscribe,
  unsubscribe,
  takeEvents,
  tellDiscarded,
  complete: completeTask,
  block: blockTask,
  unblock: unblockTask,
  answer: answerTask,
  retry: retryTask,
  schedule: scheduleTask,
  promote: promoteTask,
  hold: holdTask,
  specify: specifyTask,
  decompose: decomposeTask,
  requestReview,
  requestChanges,
  reopenReview,
  reopen: reopenTask,
  archive: archiveTask,
  purge: purgeTask,
  pause: pauseBoard,
  describeBoard,
  recompute,
  acquireLease,
  renewLease,
  releaseLease,
  collectGarbage,
  repairCounters,
} as const;

/** What only looks, on one snapshot each. */
const READS = {
  show: showTask,
  list: listTasks,
  events: eventsAfter,
  findRun,
  board: loadBoard,
  stats: boardStats,
  countByAssignee,
  recentDispatchers,
  hostName,
  workOf: workOfProfile,
  findTasks,
  nameTasks,
  glance: glanceAtTasks,
  search: searchTasks,
  context: workerContext,
  attachments: listAttachments,
  attachmentPart,
  diagnose,
  *expiredRuns(graceMs: number) {
    return (yield* expiredRuns(graceMs)).map(toRun);
  },
} as const;

type Promised<Args extends unknown[], Result> = (...args: [...Args, signal: AbortSignal]) => Promise<Result>;
type Writes = {
  readonly [Name in keyof typeof WRITES]: (typeof WRITES)[Name] extends (
    change: Change,
    ...args: infer Args
  ) => Steps<infer Result>
    ? Promised<Args, Result>
    : never;
};
type Reads = {
  readonly [Name in keyof typeof READS]: (typeof READS)[Name] extends (
    ...args: infer Args
  ) => Steps<infer Result>
    ? Promised<Args, Result>
    : never;
};

/** A board in the hands of one caller. */
export type BoardClient = Writes;

/** One board, shared with every process and host that has it open. */
export interface BoardStore extends AsyncDisposable, Reads {
  readonly slug: string;
  /** Random, made once with the board, and the same however its place is spelled. */
  readonly identity: string;
  as(caller: Caller): BoardClient;
  /** Every damage of the file and every breach of the board's own rules, as sentences; none means sound. */
  check(signal: AbortSignal): Promise<readonly string[]>;
  /** Gives `write` the whole board as lines, on one snapshot. */
  export(options: ExportOptions, write: (line: string) => void, signal: AbortSignal): Promise<void>;
  /** Puts the lines of `export` into this board, which must be empty: all of them or none. */
  import(caller: Caller, source: ImportSource, signal: AbortSignal): Promise<number>;
}

export interface ExportOptions {
  /** For other people and hosts: without what means something only here. */
  readonly portable?: boolean;
  /** Awaited now and then, so that what was written does not gather in memory. */
  readonly drained?: () => Promise<void>;
}

export interface ImportSource {
  /** Can be read again from the start. */
  readonly lines: Iterable<string>;
  /** What goes into the database besides; without it attachments lie beside it. */
  readonly content?: ImportedContent | undefined;
}

export interface BoardPlace {
  /** The root home, shared by all profiles. */
  readonly root: string;
  /** Of PostgreSQL; empty means files in the root home. */
  readonly databaseUrl: string;
  readonly slug: string;
  /** Whether to make a board that is not there; the default one always is. */
  readonly create?: boolean;
  /** The path or the schema in which a board is made before it has its slug. */
  readonly staged?: string;
}

export interface BoardStoreOptions {
  readonly clock?: Clock;
  readonly busyDeadlineMs?: number;
  readonly connections?: number;
}

/** Opens a board; throws `board-not-found` when it is not there and shall not be made. */
export async function openBoardStore(
  place: BoardPlace,
  { clock = systemClock, busyDeadlineMs, connections }: BoardStoreOptions,
  signal: AbortSignal,
): Promise<BoardStore> {
  const slug = parseBoardSlug(place.slug);
  const create = place.create === true || slug === DEFAULT_BOARD;
  if (place.databaseUrl !== "") {
    const options = { url: place.databaseUrl, schema: place.staged ?? boardSchemaName(slug), create };
    return createStore(
      slug,
      await openPostgresBoard({ ...options, ...(connections && { connections }) }, signal),
      signal,
    );
  }
  const path = place.staged ?? boardPath(place.root, slug);
  if (!create) await requireFile(path, slug);
  const options = { path, clock, ...(busyDeadlineMs !== undefined && { busyDeadlineMs }) };
  return createStore(slug, await openSqliteBoard(options, signal), signal);
}

async function requireFile(path: string, slug: string): Promise<void> {
  try {
    await access(path);
  } catch (error) {
    throw new AppError("board-not-found", `There is no board ${slug}.`, { cause: error });
  }
}

async function createStore(slug: string, database: BoardDatabase, signal: AbortSignal): Promise<BoardStore> {
  let identity: string;
  try {
    identity = await requireIdentity(slug, database, signal);
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
  const reads = mapValues(READS, (steps) => (...args: unknown[]) => {
    return database.read(() => steps(...args.slice(0, -1)), signalOf(args));
  });
  return {
    ...(reads as unknown as Reads),
    slug,
    identity,
    as(caller) {
      const writes = mapValues(WRITES, (operation) => (...args: unknown[]) => {
        return database.write(
          () => transact(caller, (change) => operation(change, ...args.slice(0, -1))),
          signalOf(args),
        );
      });
      return writes as unknown as Writes;
    },
    check: async (signal) => [
      ...(await database.checkStorage(signal)),
      ...(await database.read(checkContent, signal)),
    ],
    export: ({ drained, ...options }, write, signal) =>
      database.read(() => exportLines(options, write), signal, drained),
    async import(caller, { lines, content }, signal) {
      try {
        const steps = () => transact(caller, (change) => importLines(change, lines, content));
        return await database.write(steps, signal);
      } catch (error) {
        if (!/^(SQLITE_CONSTRAINT|SQLITE_MISMATCH|22|23)/.test(errnoOf(error) ?? "")) throw error;
        throw new AppError("board-import-invalid", `A row breaks a rule of the board: ${messageOf(error)}`, {
          cause: error,
        });
      }
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

/** The identity that the board has, or gets now because it is new or older than this. */
async function requireIdentity(slug: string, database: BoardDatabase, signal: AbortSignal): Promise<string> {
  const known = await database.read(() => first<{ identity: string | null }>(IDENTITY), signal);
  if (typeof known?.identity === "string") return known.identity;
  const fresh = randomBytes(8).toString("hex");
  return database.write(function* () {
    yield* run(FIRST_ROW, { slug, name: boardNameOf(slug) });
    yield* run("update board set identity = :fresh where identity is null", { fresh });
    return (yield* only<{ identity: string }>(IDENTITY)).identity;
  }, signal);
}

const IDENTITY = "select identity from board";
const FIRST_ROW = `
  insert into board (id, slug, name, created_at) values (1, :slug, :name, hermes_now()) on conflict do nothing`;

function* transact<Result>(caller: Caller, operation: (change: Change) => Steps<Result>): Steps<Result> {
  const change = new Change(caller);
  const result = yield* operation(change);
  yield* change.finish();
  return result;
}

type AnySteps = (...args: never[]) => Steps<unknown>;

function mapValues(
  table: Readonly<Record<string, AnySteps>>,
  map: (steps: (...args: unknown[]) => Steps<unknown>) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).map(([name, steps]) => [name, map(steps as never)]));
}

function signalOf(args: readonly unknown[]): AbortSignal {
  const signal = args.at(-1);
  if (signal instanceof AbortSignal) return signal;
  throw new TypeError("the last argument must be a signal");
}
