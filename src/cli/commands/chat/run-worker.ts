import { join } from "node:path";
import {
  type App,
  childLimits,
  environmentFacts,
  openAppConversation,
  openAppEnvironments,
  sharedAttachmentLimit,
} from "../../../app.ts";
import { attachmentsIn, locateAttachments } from "../../../board/attachments/attachment-content.ts";
import type { AttachmentPlace } from "../../../board/attachments/attachment-files.ts";
import { type BoardStore, openBoardStore } from "../../../board/board-store.ts";
import { createBoardTools } from "../../../board/tools/board-tools.ts";
import { endOwnRun } from "../../../board/worker/end-own-run.ts";
import { loadImages } from "../../../board/worker/find-images.ts";
import { findRunToResume } from "../../../board/worker/find-session.ts";
import { callerOf, type WorkerOrder } from "../../../board/worker/run-order.ts";
import { keepRunToken } from "../../../board/worker/run-token.ts";
import { workTask } from "../../../board/worker/work-task.ts";
import { createWorkerEnvironment, type WorkerEnvironment } from "../../../board/worker/worker-environment.ts";
import { WORKER_EXITS } from "../../../board/worker/worker-exits.ts";
import { openWorkerPipe } from "../../../board/worker/worker-pipe.ts";
import { firstWords, LIFECYCLE } from "../../../board/worker/worker-words.ts";
import { boardFolders } from "../../../board/workspaces/board-folders.ts";
import { folderNameOf } from "../../../board/workspaces/workspace.ts";
import { logEvent } from "../../../conversation/log-event.ts";
import type { OpenConversation } from "../../../conversation/open-conversation.ts";
import type { EnvironmentRegistry } from "../../../environments/environment-registry.ts";
import { AppError } from "../../../lib/errors.ts";
import { ensurePrivateFolder } from "../../../lib/files.ts";
import { createRedactor } from "../../../lib/redact/redactor.ts";
import type { CommandContext } from "../../context.ts";
import { currentFolder } from "../../current-folder.ts";
import { startApp } from "../../start-app.ts";
import type { RunOptions } from "./run-once.ts";
import { createWatchView } from "./view.ts";

const NUDGES = 2;
/** Below the time after which the supervisor kills. */
const END_WITHIN_MS = 4_000;

/** Works on one task of the board, for the supervisor at the other end of the pipe. */
export async function runWorker(
  context: CommandContext,
  options: RunOptions & { readonly workerPipe: number },
): Promise<void> {
  const { signal } = context;
  using pipe = await openWorkerPipe(options.workerPipe, signal);
  const { place: board, run } = pipe.order;
  pipe.watch(() => void endOwnRun(pipe.order.board, run));
  ignoreLostReaders();
  signal.addEventListener("abort", endInTime, { once: true });
  try {
    const app = await startApp(context);
    await using store = await openBoardStore(board, {}, signal);
    const caller = { ...callerOf(run), limits: childLimits(app) };
    await store.as(caller).renew({}, signal); // a run that is over must not begin
    await using _token = await keepRunToken(pipe.order);
    const cwd = currentFolder();
    const shown = await store.show(run.taskId, signal);
    const folders = boardFolders(board.root, board.slug);
    const readable = { folder: folders.attachments, taskIds: [run.taskId, ...shown.parents] };
    const place = createWorkerEnvironment(app.resolved.config.terminal, run, cwd, readable);
    if (place.filesOf !== undefined)
      for (const id of readable.taskIds) await ensurePrivateFolder(join(readable.folder, folderNameOf(id)));
    const sharedLimitBytes = sharedAttachmentLimit(app, board);
    const attachments = { ...folders, now: Date.now, seenAs: place.filesOf, sharedLimitBytes };
    const earlier = findRunToResume(shown, run.runId);
    const tell = (text: string): void => context.terminal.note(`hermes: ${text}`);
    await using environments = await openAppEnvironments(tell, signal);
    const parts = {
      context,
      options,
      app,
      store,
      order: pipe.order,
      cwd,
      place,
      attachments,
      environments,
      tell,
    };
    await using conversation = await openConversation(parts, earlier?.session_id ?? undefined);
    const about = await store.context(run.taskId, signal);
    const resumed = conversation.isResumed ? earlier : undefined;
    const files = await locateAttachments({ store, place: attachments }, attachmentsIn(about), signal);
    const text = firstWords(options.query ?? "", about, { workspace: place.seenAs ?? cwd, files, resumed });
    const images = await loadImages(about.body ?? "", context.userHome);
    const { agent } = app.resolved.config;
    using view = createWatchView(context.terminal, conversation);
    const log = (await context.log()).child({ component: "agent", session: conversation.sessionId });
    const startedAt = performance.now();
    const exitCode = await workTask(
      {
        store,
        caller,
        talk: conversation,
        message: { role: "user", parts: [{ type: "text", text }, ...images] },
        limits: {
          maxRequests: options.maxTurns ?? agent.max_turns ?? undefined,
          maxSeconds: options.runBudget ?? agent.run_budget_seconds ?? undefined,
          maxCostUsd: options.maxCost ?? agent.max_cost_usd ?? undefined,
        },
        nudges: app.resolved.variable("HERMES_KANBAN_STOP_NUDGE") === "0" ? 0 : NUDGES,
        seenComment: Math.max(0, ...about.comments.map(({ id }) => id)),
        show(event) {
          logEvent(log, event);
          view.show(event);
          // Stopped is how a turn ends after its result.
          if (event.type === "turn-end" && event.outcome !== "stopped") {
            const { outcome, text } = event;
            view.end({ end: event, outcome, text, durationMs: performance.now() - startedAt });
          }
        },
      },
      signal,
    );
    context.exit(exitCode);
  } catch (error) {
    if (signal.aborted) return context.exit(WORKER_EXITS.terminated);
    if (!isLossOfBoard(error)) throw error;
    context.terminal.note(`hermes: ${error.message} ${error.hint}`);
    context.exit(WORKER_EXITS.infrastructure);
  }
}

function isLossOfBoard(error: unknown): error is AppError {
  return (
    error instanceof AppError && (error.code === "database-unavailable" || error.code === "database-busy")
  );
}

/** A supervisor that is gone reads our output no more; what is to be done then, the pipe says. */
function ignoreLostReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners("error").on("error", () => undefined);
}

function endInTime(): void {
  setTimeout(() => process.exit(WORKER_EXITS.terminated), END_WITHIN_MS).unref();
}

interface Parts {
  readonly context: CommandContext;
  readonly options: RunOptions;
  readonly app: App;
  readonly store: BoardStore;
  readonly order: WorkerOrder;
  readonly cwd: string;
  readonly place: WorkerEnvironment;
  readonly attachments: AttachmentPlace;
  readonly environments: EnvironmentRegistry;
  tell(text: string): void;
}

/** Goes on with a session if it is still there, and begins a new one otherwise. */
async function openConversation(
  { context, options, app, store, order, cwd, place, attachments, environments, tell }: Parts,
  sessionId: string | undefined,
): Promise<OpenConversation> {
  const { variables, userHome, signal } = context;
  const { run } = order;
  const redactor = createRedactor({ secrets: app.resolved.secrets });
  const tools = createBoardTools({
    store,
    caller: { ...callerOf(run), limits: childLimits(app) },
    attachments,
    workspace: { path: cwd, seenAs: place.seenAs },
    redact: (text) => redactor.redact(text),
  });
  const open = (resume: string | undefined): Promise<OpenConversation> =>
    openAppConversation(
      app,
      {
        environments,
        task: run.taskId,
        environment: {
          ...environmentFacts(app, {
            cwd,
            variables,
            userHome,
            reporter: { onNotice: tell, onProgress: tell },
          }),
          options: place.options,
          lent: place.lent,
        },
        choice: { resume },
        model: { model: options.model },
        surface: {
          source: "kanban",
          words: LIFECYCLE,
          ask: undefined,
          canNotify: false,
          takesNotes: true, // comments on the task
          haltsLoops: true,
          showsText: false,
          tools,
        },
      },
      signal,
    );
  try {
    return await open(sessionId);
  } catch (error) {
    if (sessionId === undefined || !(error instanceof AppError) || error.code !== "session-not-found")
      throw error;
    return open(undefined);
  }
}
