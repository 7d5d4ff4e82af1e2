import { type WorkerOptions, type WorkerProcess, workOrder } from "../../../app/worker.ts";
import { endOwnRun } from "../../../board/worker/end-own-run.ts";
import { isInfrastructureFailure, WORKER_EXIT_CODES } from "../../../board/worker/worker-exits.ts";
import { openWorkerPipe } from "../../../board/worker/worker-pipe.ts";
import { openEventLog } from "../../../conversation/log-event.ts";
import type { OpenConversation } from "../../../conversation/open-conversation.ts";
import type { Log } from "../../../lib/log/log.ts";
import type { CommandContext } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { currentFolder } from "../../terminal/current-folder.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { createWatchView } from "./run-views.ts";

/** The time to end after a signal; shorter than the time after which the supervisor kills the worker. */
const END_WITHIN_MS = 4_000;

/** Runs the worker of one task. Its supervisor is at the other end of the pipe. */
export async function runWorker(
  context: CommandContext,
  { workerPipe, ...options }: WorkerOptions & { readonly workerPipe: number },
): Promise<void> {
  const { terminal, signal } = context;
  using pipe = await openWorkerPipe(workerPipe, signal);
  pipe.watch(() => void endOwnRun(pipe.order.board, pipe.order.run));
  ignoreLostReaders();
  signal.addEventListener("abort", endInTime, { once: true });
  try {
    const app = await startApp(context);
    const log = await context.log();
    const worker = {
      cwd: currentFolder(),
      notify: context.reporter.onNotice,
      watch: (conversation: OpenConversation) => watchRun(conversation, terminal, log),
    };
    context.exit(await workOrder(app, pipe.order, options, worker, signal));
  } catch (error) {
    if (signal.aborted) return context.exit(WORKER_EXIT_CODES.terminated);
    if (!isInfrastructureFailure(error)) throw error;
    terminal.note(`hermes: ${error.message} ${error.hint}`);
    context.exit(WORKER_EXIT_CODES.infrastructure);
  }
}

function watchRun(
  conversation: OpenConversation,
  terminal: Terminal,
  log: Log,
): ReturnType<WorkerProcess["watch"]> {
  const view = createWatchView(terminal, conversation);
  const eventLog = openEventLog(log.child({ component: "agent", session: conversation.sessionId }));
  const startedAt = performance.now();
  return {
    show(event) {
      eventLog.add(event);
      view.show(event);
      // A turn that reported its task's result always ends as stopped.
      if (event.type !== "turn-end" || event.outcome === "stopped") return;
      const { outcome, text } = event;
      view.end({ end: event, outcome, text, durationMs: performance.now() - startedAt });
    },
    [Symbol.dispose]() {
      eventLog[Symbol.dispose]();
      view[Symbol.dispose]();
    },
  };
}

/** Ignores a closed stdout or stderr: the pipe reports that the supervisor has exited. */
function ignoreLostReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners("error").on("error", () => undefined);
}

function endInTime(): void {
  setTimeout(() => process.exit(WORKER_EXIT_CODES.terminated), END_WITHIN_MS).unref();
}
