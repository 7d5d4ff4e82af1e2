import { mainArgument } from "../../../agent/main-argument.ts";
import type { BoardData, DashboardBoard } from "../../../api/dashboard/data/board-data.ts";
import { boardPath, DEFAULT_BOARD, parseBoardSlug } from "../../../board/board-slug.ts";
import { type BoardStore, openBoardStore } from "../../../board/board-store.ts";
import type { Caller } from "../../../board/caller.ts";
import type { Announcements } from "../../../board/database/postgres-announcements.ts";
import { explainTask } from "../../../board/dispatcher/reasons/explain-task.ts";
import { reclaimTask } from "../../../board/dispatcher/reclaim-task.ts";
import { runPass } from "../../../board/dispatcher/run-pass.ts";
import { liftGuards } from "../../../board/dispatcher/transactions/record-notices.ts";
import { removeBoard } from "../../../board/registry/remove-board.ts";
import { withStagedBoard } from "../../../board/registry/stage-board.ts";
import { loggedRuns, runLogPath, taskLogFolder } from "../../../board/supervisor/log/run-log.ts";
import { watchBoard } from "../../../board/watch-board.ts";
import { COMMENT_NOTE } from "../../../board/worker/worker-messages.ts";
import { describeWorkspace } from "../../../board/workspaces/describe-workspace.ts";
import { diffWorktree } from "../../../board/workspaces/git/diff-worktree.ts";
import { findRecord } from "../../../board/workspaces/workspace-record.ts";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { exists } from "../../../lib/files/unless-missing.ts";
import type { Log } from "../../../lib/log/log.ts";
import { createRedactor } from "../../../lib/redact/redactor.ts";
import { formatCount } from "../../../lib/text/format-count.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { withoutUndefined } from "../../../lib/without-undefined.ts";
import { listProfiles } from "../../../profiles/profile-store.ts";
import type { App } from "../../app.ts";
import { answerTaskQuestion } from "../../approvals.ts";
import {
  attachmentFolders,
  boardsLocation,
  findBoards,
  loadWorkspaceFolders,
  requireRepository,
  requireStartable,
} from "../../board.ts";
import { findBoardProblems } from "../../board-findings.ts";
import { cleanUpAfter } from "../../clean-up-after.ts";
import { openDispatch } from "../../dispatch.ts";
import { policyOf } from "../../dispatch-policy.ts";
import { keepOpen } from "./open-by-name.ts";
import type { OpenSessions } from "./open-sessions.ts";

export interface OpenBoardsParts {
  /** The app with the current settings. */
  load(): Promise<App>;
  readonly sessions: OpenSessions;
  /** The changes of boards on a server. */
  readonly announcements: Announcements | undefined;
  readonly log: Pick<Log, "warn">;
}

type OpenedBoard = DashboardBoard & AsyncDisposable;

const OPEN_WITHIN_MS = 30_000;
const CALL_LENGTH = 300;

/** Opens each board of the home on first use and keeps it open. Opens it again if its file was replaced. */
export function openBoards(app: App, parts: OpenBoardsParts): BoardData & AsyncDisposable {
  const location = boardsLocation(app);
  const { root, databaseUrl } = location;
  const { announcements } = parts;
  const boards = keepOpen(
    async (slug): Promise<OpenedBoard> => {
      const store = await openBoardStore({ ...location, slug }, {}, AbortSignal.timeout(OPEN_WITHIN_MS));
      return createBoard({ app, store, announcements }, parts);
    },
    (slug) => (databaseUrl === "" ? boardPath(root, slug) : undefined),
  );
  const data: BoardData = {
    list: (signal) => findBoards(app, signal),
    async open(text) {
      const slug = parseBoardSlug(text);
      // The default board is created on demand; another board that was removed must not stay open.
      if (databaseUrl === "" && slug !== DEFAULT_BOARD && !(await exists(boardPath(root, slug))))
        await boards.close(slug);
      return await boards.get(slug);
    },
    async create({ slug: text, ...description }, signal) {
      const { defaultWorkdir } = description;
      if (defaultWorkdir !== undefined) await requireRepository(app, { defaultWorkdir }, signal);
      const slug = parseBoardSlug(text);
      const fill = async (store: BoardStore): Promise<void> => {
        await store.as(operatorOf(app)).describeBoard(withoutUndefined(description), signal);
      };
      if (slug === DEFAULT_BOARD) return false;
      return await withStagedBoard(location, (staged) => staged.publish(slug, fill), signal);
    },
    async remove(text, signal) {
      const { store } = await data.open(text, signal);
      const { running } = (await store.stats(signal)).byStatus;
      if (running > 0)
        throw new AppError(
          "task-running",
          `${formatCount(running, "task")} of the board ${store.slug} ${running === 1 ? "is" : "are"} running.`,
        );
      await boards.close(store.slug);
      await removeBoard(location, store.slug, { permanently: false, now: Date.now() }, signal);
    },
  };
  return { ...data, [Symbol.asyncDispose]: () => boards[Symbol.asyncDispose]() };
}

/** The user of this machine, with the same name as on the command line. */
function operatorOf({ variables }: App): Caller {
  return { kind: "operator", name: variables["USER"] || variables["LOGNAME"] || "operator" };
}

function createBoard(
  {
    app,
    store,
    announcements,
  }: {
    readonly app: App;
    readonly store: BoardStore;
    readonly announcements: Announcements | undefined;
  },
  { load, sessions, log }: OpenBoardsParts,
): OpenedBoard {
  const location = boardsLocation(app);
  const { root } = location;
  const { slug } = store;
  const caller = operatorOf(app);
  const open = { app, store };
  const { redact } = createRedactor({ secrets: app.resolved.secrets });
  return {
    store,
    client: store.as(caller),
    files: attachmentFolders(open),
    async settings() {
      const now = await load();
      const { maxSpawn = null, maxInProgress = null, defaultAssignee } = policyOf(now);
      return {
        hasDefaultAssignee: defaultAssignee !== undefined,
        caps: { board: maxSpawn, host: maxInProgress },
      };
    },
    profiles: async () => (await listProfiles(app.profile.root)).map(({ name }) => name),
    async lastCalls(runs) {
      const calls = new Map();
      for (const { id, profile, sessionId } of runs) {
        const call =
          sessionId === null
            ? undefined
            : await sessions.findRun(profile, (run) => run.findLastCall(sessionId));
        if (call === undefined) continue;
        const text = shorten(mainArgument(call.input).replaceAll(/\s+/g, " ").trim(), CALL_LENGTH);
        calls.set(id, { tool: call.tool, text, at: call.at, outcome: call.outcome ?? null });
      }
      return calls;
    },
    async commentsRead(runs) {
      const read = new Map<number, number>();
      for (const { profile, session_id: id } of runs) {
        const notes = id === null ? undefined : await sessions.findRun(profile, (run) => run.notes(id));
        for (const { text, at } of notes ?? []) {
          const number = text.startsWith(COMMENT_NOTE)
            ? Number.parseInt(text.slice(COMMENT_NOTE.length), 10)
            : 0;
          if (number > 0 && !read.has(number)) read.set(number, at);
        }
      }
      return read;
    },
    async explain(taskId, signal) {
      using dispatch = await openDispatch({ app: await load(), store }, signal);
      return await explainTask(dispatch, taskId, signal);
    },
    async findProblems(signal) {
      const { findings } = await findBoardProblems({ app: await load(), store }, undefined, signal);
      return findings.map(({ task_id, actions, ...one }) => ({
        ...one,
        taskId: task_id,
        actions: [...actions],
      }));
    },
    async dispatch(signal) {
      using dispatch = await openDispatch({ app: await load(), store }, signal);
      const report = await runPass(
        { ...dispatch, isLast: true, dryRun: false, isStopping: () => signal.aborted },
        signal,
      );
      return report.spawned.length;
    },
    requireRepository: async (path, signal) =>
      requireRepository(await load(), { defaultWorkdir: path }, signal),
    requireStartable: async (task, signal) => requireStartable({ app: await load(), store }, task, signal),
    async answerQuestion(runs, text, signal) {
      // Only a signed-in person reaches this.
      const asked = await answerTaskQuestion(app, runs, { text, requirePerson: () => undefined }, signal);
      if (asked === undefined) return undefined;
      const { id, state, answer } = asked.approval;
      return { id, state, profile: asked.profile, answer: state === "answered" ? answer : undefined };
    },
    async endRun(taskId, signal) {
      using dispatch = await openDispatch(open, signal);
      return await reclaimTask({ ...dispatch, caller }, { taskId, reason: "" }, signal);
    },
    unguard: (taskId, signal) =>
      store.forDispatcher.write(caller, (transaction) => liftGuards(transaction, taskId), signal),
    async cleanUpAfter(taskId) {
      const notify = (text: string): void => log.warn(text, { board: slug, task: taskId });
      try {
        await cleanUpAfter({ ...open, notify }, taskId, AbortSignal.timeout(OPEN_WITHIN_MS));
      } catch (error) {
        notify(messageOf(error));
      }
    },
    workspace: async (task, signal) =>
      describeWorkspace(task, await loadWorkspaceFolders(open, signal), signal),
    async diff(taskId, signal) {
      const folders = await loadWorkspaceFolders(open, signal);
      const { worktree, path = null } = (await findRecord(folders.workspaces, taskId)) ?? {};
      const branch = worktree?.branch ?? null;
      if (path === null || worktree === undefined)
        return { path, branch, missing: "This task has no worktree on this host.", diff: undefined };
      if (!(await exists(path)))
        return { path: null, branch, missing: `${path} no longer exists.`, diff: undefined };
      const { repository } = worktree;
      const diff = await diffWorktree({ path, repository }, folders.env, signal);
      return { path, branch, missing: null, diff };
    },
    redact: (text) => redact(text),
    loggedRuns: (taskId) => loggedRuns(taskLogFolder(root, slug, taskId)),
    logPath: (taskId, runId) => runLogPath(root, slug, taskId, runId),
    watch: () => watchBoard({ ...location, slug }, store.forDispatcher, systemClock, announcements),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
