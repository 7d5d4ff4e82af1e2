import { readRunLog } from "../../../board/supervisor/log/read-run-log.ts";
import { AppError } from "../../../lib/errors.ts";
import { watchFile } from "../../../lib/files/watch-file.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { waitForTouch } from "../../../lib/time/wait-for-touch.ts";
import { WakeFlag } from "../../../lib/time/wake-flag.ts";
import type { BoardData, DashboardBoard } from "../../dashboard/data/board-data.ts";
import { LOG_BYTES } from "../../dashboard/routes/boards/task-run-routes.ts";
import type { LiveSink, LiveSource } from "../live-source.ts";

/** Lines within this time become one event. */
const GATHER_MS = 50;
/** How often the log and the end of its run are checked even without a reported write. */
const POLL_MS = 1_000;

interface Followed {
  readonly board: DashboardBoard;
  readonly taskId: string;
  readonly runId: number;
}

/** Publishes the output of a worker on this host, while a page shows it. The topic is `run:BOARD/RUN`. */
export function createRunLogSource(boards: Pick<BoardData, "open">): LiveSource {
  return {
    kind: "run",
    async open(name, sink, signal) {
      const followed = await findRun(boards, name, signal);
      const touched = new WakeFlag();
      const path = followed.board.logPath(followed.taskId, followed.runId);
      const watcher = watchFile(path, touched);
      const end = new AbortController();
      const { to, part } = readRunLog(path, { bytes: 0 });
      const ended = followLog(followed, { path, touched, from: to, part, sink }, end.signal).catch(
        (error: unknown) => {
          if (!end.signal.aborted) sink.fail(error);
        },
      );
      return {
        async [Symbol.asyncDispose]() {
          end.abort();
          watcher?.close();
          await ended;
        },
      };
    },
  };
}

async function findRun(
  boards: Pick<BoardData, "open">,
  name: string,
  signal: AbortSignal,
): Promise<Followed> {
  const [slug = "", number = ""] = name.split("/");
  const board = await boards.open(slug, signal);
  const runId = /^[1-9]\d{0,14}$/.test(number) ? Number(number) : 0;
  const run = await board.store.findRun(runId, signal);
  if (run === undefined) throw new AppError("task-not-found", `There is no run ${number} on this board.`);
  return { board, taskId: run.task_id, runId };
}

interface Position {
  readonly path: string;
  readonly touched: WakeFlag;
  readonly from: number;
  readonly part: string;
  readonly sink: LiveSink;
}

async function followLog(
  { board, taskId, runId }: Followed,
  { path, touched, from, part, sink }: Position,
  signal: AbortSignal,
): Promise<void> {
  const names = { board: board.store.slug, taskId, runId };
  for (let [next, known, isRunning] = [from, part, true]; isRunning; ) {
    await waitForTouch(touched, POLL_MS, systemClock, signal);
    await systemClock.sleep(GATHER_MS, signal);
    // Read before the log, so that the last piece of an ended run is complete.
    const run = await board.store.findRun(runId, signal);
    isRunning = run !== undefined && run.ended_at === null;
    let piece = readRunLog(path, { after: next, bytes: LOG_BYTES });
    if (piece.part !== known) piece = readRunLog(path, { bytes: LOG_BYTES });
    known = piece.part;
    next = piece.to;
    if (piece.text === "" && isRunning) continue;
    const { size: _, ...sent } = piece;
    sink.publish("run-line", { ...names, ...sent, text: board.redact(piece.text), isRunning });
  }
}
