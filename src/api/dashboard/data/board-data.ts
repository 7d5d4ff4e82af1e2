import type { AttachmentFolders } from "../../../board/attachments/attachment-files.ts";
import type { BoardClient } from "../../../board/board-client.ts";
import type { BoardStore } from "../../../board/board-store.ts";
import type { Explanation } from "../../../board/dispatcher/reasons/explain-task.ts";
import type { ReclaimResult } from "../../../board/dispatcher/reclaim-task.ts";
import type { NewTask } from "../../../board/operations/tasks/create-task.ts";
import type { CardSettings } from "../../../board/operations/views/cards/build-cards.ts";
import type { OpenRun } from "../../../board/operations/views/cards/card.ts";
import type { Run, Task } from "../../../board/task.ts";
import type { BoardWatch } from "../../../board/watch-board.ts";
import type { WorkspaceFacts } from "../../../board/workspaces/describe-workspace.ts";
import type { WorktreeDiff } from "../../../board/workspaces/git/diff-worktree.ts";
import type { BoardFinding, LastCall, NewBoard } from "../../contract/boards.ts";

/** The boards of a home or a database server. Each is opened once and kept open. */
export interface BoardData {
  /** The slugs, the default board first. */
  list(signal: AbortSignal): Promise<readonly string[]>;
  /** Throws `board-not-found`. */
  open(slug: string, signal: AbortSignal): Promise<DashboardBoard>;
  /** Returns false if a board of that name already exists. */
  create(board: NewBoard, signal: AbortSignal): Promise<boolean>;
  /** Removes a board without running tasks; its data is kept. */
  remove(slug: string, signal: AbortSignal): Promise<void>;
}

/** One board and everything that a person can do to it. */
export interface DashboardBoard {
  readonly store: BoardStore;
  /** The operations of the board, done in the name of the user of this machine. */
  readonly client: BoardClient;
  readonly files: AttachmentFolders;
  /** Read again at each call. */
  settings(): Promise<BoardSettings>;
  /** The profiles of this home. */
  profiles(): Promise<readonly string[]>;
  /** The last call of the agent in each of these runs, by the id of the run; only for runs on this host. */
  lastCalls(
    runs: readonly Pick<OpenRun, "id" | "profile" | "sessionId">[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, LastCall>>;
  /** When a running worker received each comment as a note, by the number of the comment. */
  commentsRead(runs: readonly Run[], signal: AbortSignal): Promise<ReadonlyMap<number, number>>;
  explain(taskId: string, signal: AbortSignal): Promise<Explanation>;
  /** Problems of open tasks: why each does not continue. */
  findProblems(signal: AbortSignal): Promise<readonly BoardFinding[]>;
  /** Runs one dispatcher pass within the limits of the settings, and returns how many tasks it started. */
  dispatch(signal: AbortSignal): Promise<number>;
  /** Throws if the worker of a new task could not be started. */
  requireStartable(task: NewTask, signal: AbortSignal): Promise<void>;
  /** Answers the question that the worker of the last run asked, if it asked one. */
  answerQuestion(
    runs: readonly Run[],
    text: string,
    signal: AbortSignal,
  ): Promise<AnsweredQuestion | undefined>;
  /** Ends the run of a task and its processes. */
  endRun(taskId: string, signal: AbortSignal): Promise<ReclaimResult>;
  /** Lets a task start now, without the delay after its last attempt. */
  unguard(taskId: string, signal: AbortSignal): Promise<Task>;
  /** Removes what an ended task no longer needs. A failure is only logged: the task has ended regardless. */
  cleanUpAfter(taskId: string): Promise<void>;
  workspace(task: Task, signal: AbortSignal): Promise<WorkspaceFacts>;
  /** The changes in the worktree of a task since its branch began, if the worktree is on this host. */
  diff(taskId: string, signal: AbortSignal): Promise<TaskDiff>;
  /** Replaces secrets in the output of a worker. */
  redact(text: string): string;
  /** The runs of a task whose logs are on this host. */
  loggedRuns(taskId: string): readonly number[];
  /** The path of the log of a run on this host. */
  logPath(taskId: string, runId: number): string;
  /** Watches the events that any process writes. */
  watch(): BoardWatch;
}

export interface BoardSettings extends CardSettings {
  /** How many tasks may run at once; null means no limit. */
  readonly caps: { readonly board: number | null; readonly host: number | null };
}

export interface TaskDiff {
  readonly path: string | null;
  readonly branch: string | null;
  /** Why there is no diff; null if there is one. */
  readonly missing: string | null;
  readonly diff: WorktreeDiff | undefined;
}

export interface AnsweredQuestion {
  readonly id: string;
  readonly profile: string;
  readonly state: string;
  /** The full text of the answer, if the person gave only the number of a choice. */
  readonly answer: string | undefined;
}
