import { AppError, errnoOf, messageOf } from "../lib/errors.ts";
import { BoardClient } from "./board-client.ts";
import { type BoardTransaction, runTransaction } from "./board-transaction.ts";
import type { Caller } from "./caller.ts";
import type { BoardDatabase } from "./database/board-database.ts";
import { type AsyncOperation, type Steps, toAsyncOperation } from "./database/steps.ts";
import { createDispatchBoard, type DispatchBoard } from "./dispatcher/dispatch-board.ts";
import { listDispatchers } from "./dispatcher/list-dispatchers.ts";
import { recentDispatchers } from "./dispatcher/live-dispatchers.ts";
import { findHostName } from "./dispatcher/transactions/dispatcher-rows.ts";
import { type BoardLocation, type OpenBoard, type OpenBoardOptions, openBoard } from "./open-board.ts";
import { diagnose } from "./operations/boards/diagnose.ts";
import { checkContent } from "./operations/boards/maintain-board.ts";
import { loadProfileWork } from "./operations/boards/profile-names.ts";
import {
  exportLines,
  type ImportedContent,
  importLines,
  requireEmpty,
} from "./operations/boards/transfer.ts";
import { listAttachments, loadAttachmentPart } from "./operations/records/attachments.ts";
import { listExpiredRuns } from "./operations/runs/end-run.ts";
import {
  countByAssignee,
  countDone,
  listTenants,
  loadBoard,
  loadBoardStats,
} from "./operations/views/board-stats.ts";
import { loadCardChanges, loadChanges } from "./operations/views/cards/board-changes.ts";
import { findCards, listCards } from "./operations/views/cards/list-cards.ts";
import { listOpenRuns } from "./operations/views/cards/open-runs.ts";
import { loadTaskGraph } from "./operations/views/cards/task-graph.ts";
import { findRun, findRunOfSession } from "./operations/views/find-run.ts";
import { findTasks } from "./operations/views/find-tasks.ts";
import { findTaskNames, loadListDetails, searchTasks } from "./operations/views/list-details.ts";
import { listEventsAfter, listLastEvents } from "./operations/views/list-events.ts";
import { listTasks } from "./operations/views/list-tasks.ts";
import { loadTaskDetails } from "./operations/views/load-task-details.ts";
import { listPendingNotices } from "./operations/views/pending-notices.ts";
import { toRun } from "./operations/views/rows.ts";
import { loadWorkerContext } from "./operations/views/worker-context.ts";

export interface ExportOptions {
  /** For other users and hosts: omits data that is only valid on this host. */
  readonly portable?: boolean;
  /** Awaited between pages, so that written lines do not accumulate in memory. */
  readonly betweenPages?: () => Promise<void>;
}

export interface ImportSource {
  /** Must be iterable more than once: a repeated transaction reads the lines from the start. */
  readonly lines: Iterable<string>;
  /** Attachment content to store in the database; without it, attachments are files next to the database. */
  readonly content?: ImportedContent | undefined;
}

/** Opens a board; throws `board-not-found` when it does not exist and `create` is not set. */
export async function openBoardStore(
  location: BoardLocation,
  options: OpenBoardOptions,
  signal: AbortSignal,
): Promise<BoardStore> {
  return new BoardStore(await openBoard(location, options, signal));
}

/** One board, shared with every process and host that has it open. Each read operation sees one consistent snapshot. */
export class BoardStore implements AsyncDisposable {
  readonly slug: string;
  /** Random, generated when the board is created; does not depend on how its path or URL is spelled. */
  readonly identity: string;
  /** The same board with the operations of a dispatcher. */
  readonly forDispatcher: DispatchBoard;
  readonly #database: BoardDatabase;

  readonly show = this.#read(loadTaskDetails);
  readonly list = this.#read(listTasks);
  readonly events = this.#read(listEventsAfter);
  readonly lastEvents = this.#read(listLastEvents);
  readonly countDone = this.#read(countDone);
  readonly dispatchers = this.#read(listDispatchers);
  readonly tenants = this.#read(listTenants);
  readonly pendingNotices = this.#read(listPendingNotices);
  readonly findRun = this.#read(findRun);
  readonly findRunOfSession = this.#read(findRunOfSession);
  readonly board = this.#read(loadBoard);
  readonly requireEmpty = this.#read(requireEmpty);
  readonly stats = this.#read(loadBoardStats);
  readonly countByAssignee = this.#read(countByAssignee);
  readonly recentDispatchers = this.#read(recentDispatchers);
  readonly hostName = this.#read(findHostName);
  readonly workOf = this.#read(loadProfileWork);
  readonly findTasks = this.#read(findTasks);
  readonly findTaskNames = this.#read(findTaskNames);
  readonly listDetails = this.#read(loadListDetails);
  readonly search = this.#read(searchTasks);
  readonly cards = this.#read(listCards);
  readonly findCards = this.#read(findCards);
  readonly changes = this.#read(loadChanges);
  readonly cardChanges = this.#read(loadCardChanges);
  readonly openRuns = this.#read(listOpenRuns);
  readonly graph = this.#read(loadTaskGraph);
  readonly context = this.#read(loadWorkerContext);
  readonly attachments = this.#read(listAttachments);
  readonly attachmentPart = this.#read(loadAttachmentPart);
  readonly diagnose = this.#read(diagnose);
  readonly expiredRuns = this.#read(function* (graceMs: number) {
    return (yield* listExpiredRuns(graceMs)).map(toRun);
  });

  constructor({ slug, identity, database }: OpenBoard) {
    this.slug = slug;
    this.identity = identity;
    this.#database = database;
    this.forDispatcher = createDispatchBoard(slug, database);
  }

  as(caller: Caller): BoardClient {
    return new BoardClient(this.#database, caller);
  }

  /** Checks the storage and the board's invariants; returns one sentence per violation. */
  async check(signal: AbortSignal): Promise<readonly string[]> {
    const storageErrors = await this.#database.checkStorage(signal);
    return [...storageErrors, ...(await this.#database.read(checkContent, signal))];
  }

  /** Passes the whole board to `write` as lines, read from one snapshot. */
  export(
    { betweenPages, ...options }: ExportOptions,
    write: (line: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#database.read(() => exportLines(options, write), signal, betweenPages);
  }

  /** Imports the lines of `export` into this empty board in one transaction; returns the number of rows. */
  async import(caller: Caller, { lines, content }: ImportSource, signal: AbortSignal): Promise<number> {
    try {
      const insert = (transaction: BoardTransaction) => importLines(transaction, lines, content);
      return await runTransaction(this.#database, caller, insert, signal);
    } catch (error) {
      if (!/^(SQLITE_CONSTRAINT|SQLITE_MISMATCH|22|23)/.test(errnoOf(error) ?? "")) throw error;
      const message = `A row violates a constraint of the board: ${messageOf(error)}`;
      throw new AppError("board-import-invalid", message, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]();
  }

  #read<Args extends unknown[], Result>(
    steps: (...args: Args) => Steps<Result>,
  ): AsyncOperation<Args, Result> {
    return toAsyncOperation((args, signal) => this.#database.read(() => steps(...args), signal));
  }
}
