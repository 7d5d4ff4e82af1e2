import { join } from "node:path";
import type { AgentEvent } from "../agent/events.ts";
import { attachmentsIn, locateAttachments } from "../board/attachments/attachment-content.ts";
import { openBoardStore } from "../board/board-store.ts";
import { createBoardTools } from "../board/tools/board-tools.ts";
import { findRunToResume } from "../board/worker/find-run-to-resume.ts";
import { loadImages } from "../board/worker/load-images.ts";
import { callerOf, type WorkerOrder } from "../board/worker/run-order.ts";
import { openRunTokenFile } from "../board/worker/run-token.ts";
import { workTask } from "../board/worker/work-task.ts";
import { createWorkerEnvironment } from "../board/worker/worker-environment.ts";
import { renderFirstMessage, WORKER_INSTRUCTIONS } from "../board/worker/worker-messages.ts";
import { boardFolders } from "../board/workspaces/board-folders.ts";
import { folderNameOf } from "../board/workspaces/workspace.ts";
import type { OpenConversation } from "../conversation/open-conversation.ts";
import { AppError } from "../lib/errors.ts";
import { ensurePrivateFolder } from "../lib/files/files.ts";
import { createRedactor } from "../lib/redact/redactor.ts";
import type { App } from "./app.ts";
import { requireStartable, sharedAttachmentLimit } from "./board.ts";
import { fetchImage, type LimitOptions, openAppConversation, turnLimits } from "./conversation.ts";
import { createEnvironmentFacts, openAppEnvironments } from "./environments/environments.ts";

const NUDGES = 2;

export interface WorkerOptions extends LimitOptions {
  /** Text at the start of the first message to the model. */
  readonly query?: string;
  readonly model?: string;
}

/** What the process of the worker provides. */
export interface WorkerProcess {
  /** The workspace. */
  readonly cwd: string;
  notify(text: string): void;
  /** Starts a view of the conversation's events. */
  watch(conversation: OpenConversation): Disposable & { show(event: AgentEvent): void };
}

/** Works on the task of an order until its run has a result. Resolves with the exit code of the worker. */
export async function workOrder(
  app: App,
  order: WorkerOrder,
  options: WorkerOptions,
  { cwd, notify, watch }: WorkerProcess,
  signal: AbortSignal,
): Promise<number> {
  const { location: board, run } = order;
  await using store = await openBoardStore(board, {}, signal);
  const caller = callerOf(run);
  await store.as(caller).renew({}, signal); // throws if the run has already ended
  await using _token = await openRunTokenFile(order);
  const shown = await store.show(run.taskId, signal);
  const folders = boardFolders(board.root, board.slug);
  const readable = { folder: folders.attachments, taskIds: [run.taskId, ...shown.parents] };
  const workerEnvironment = createWorkerEnvironment(app.resolved.config.terminal, run, cwd, readable);
  if (workerEnvironment.attachmentFolderOf !== undefined)
    for (const id of readable.taskIds) await ensurePrivateFolder(join(readable.folder, folderNameOf(id)));
  const sharedLimitBytes = sharedAttachmentLimit(app, board);
  const attachments = {
    ...folders,
    now: Date.now,
    folderForWorker: workerEnvironment.attachmentFolderOf,
    sharedLimitBytes,
  };
  const earlier = findRunToResume(shown, run.runId);
  const redactor = createRedactor({ secrets: app.resolved.secrets });
  await using environments = await openAppEnvironments(notify, signal);
  const reporter = { onNotice: notify, onProgress: notify };
  const tools = createBoardTools({
    store,
    caller,
    attachments,
    workspace: { path: cwd, pathForWorker: workerEnvironment.workspacePath },
    requireStartable: (task) => requireStartable({ app, store }, task, signal),
    redact: (text) => redactor.redact(text),
  });
  const open = (resume: string | undefined): Promise<OpenConversation> =>
    openAppConversation(
      app,
      {
        environments,
        task: run.taskId,
        askingTask: { board: board.slug, taskId: run.taskId },
        environment: {
          ...createEnvironmentFacts(app, { cwd, reporter }),
          options: workerEnvironment.options,
          temporaryFiles: workerEnvironment.temporaryFiles,
        },
        choice: { resume },
        model: { model: options.model },
        surface: {
          source: "kanban",
          instructions: WORKER_INSTRUCTIONS,
          canNotify: false,
          takesNotes: true, // comments on the task
          haltsLoops: true,
          showsText: false,
          whenApprovalNeeded: "ask",
          titledBy: "nobody", // the task has a title
          tools,
        },
      },
      signal,
    );
  await using conversation = await openResumed(open, earlier?.session_id ?? undefined);
  const workerContext = await store.context(run.taskId, signal);
  const text = renderFirstMessage(options.query ?? "", workerContext, {
    workspace: workerEnvironment.workspacePath ?? cwd,
    files: await locateAttachments({ store, folders: attachments }, attachmentsIn(workerContext), signal),
    resumed: conversation.isResumed ? earlier : undefined,
  });
  const images = await loadImages(workerContext.body ?? "", app.userHome, async (address) => {
    try {
      return await fetchImage(app, address, signal);
    } catch (error) {
      if (!(error instanceof AppError) || signal.aborted) throw error;
      notify(`${address} is not sent as an image: ${error.message}`);
      return { problem: error.message };
    }
  });
  using view = watch(conversation);
  return await workTask(
    {
      store,
      caller,
      conversation,
      message: { role: "user", parts: [{ type: "text", text }, ...images] },
      limits: turnLimits(app, options),
      maxReminders: app.resolved.variable("HERMES_KANBAN_STOP_NUDGE") === "0" ? 0 : NUDGES,
      seenComment: Math.max(0, ...workerContext.comments.map(({ id }) => id)),
      logEvent: (event) => view.show(event),
    },
    signal,
  );
}

/** Resumes a session if it still exists, and starts a new one otherwise. */
async function openResumed(
  open: (resume: string | undefined) => Promise<OpenConversation>,
  sessionId: string | undefined,
): Promise<OpenConversation> {
  try {
    return await open(sessionId);
  } catch (error) {
    if (sessionId === undefined || !(error instanceof AppError) || error.code !== "session-not-found")
      throw error;
    return open(undefined);
  }
}
