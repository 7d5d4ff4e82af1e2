import type { BoardChanges } from "../../../board/operations/views/cards/board-changes.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import type { BoardChange } from "../../contract/boards.ts";
import type { BoardData, DashboardBoard } from "../../dashboard/data/board-data.ts";
import { toCards } from "../../dashboard/routes/boards/card-view.ts";
import { toEvents } from "../../dashboard/routes/boards/event-view.ts";
import type { LiveSink, LiveSource } from "../live-source.ts";

/** Changes within this time become one event. */
const GATHER_MS = 50;
/** How often the last calls and costs of running tasks are read, for which the board has no events. */
const RUNNING_MS = 2_000;
const MAX_EVENTS = 50;

/** Publishes changed cards, whichever process changed them, while a page shows the board. */
export function createBoardSource(boards: Pick<BoardData, "open">): LiveSource {
  return {
    kind: "board",
    async open(slug, sink, signal) {
      const board = await boards.open(slug, signal);
      const watch = board.watch();
      const end = new AbortController();
      try {
        await watch.mark(signal);
        const after = (await board.store.lastEvents(1, signal)).at(-1)?.id ?? 0;
        const ended = Promise.all([
          followEvents(board, watch, after, sink, end.signal),
          followRuns(board, sink, end.signal),
        ]).catch((error: unknown) => {
          if (!end.signal.aborted) sink.fail(error);
        });
        return {
          async [Symbol.asyncDispose]() {
            end.abort();
            await ended;
            watch[Symbol.dispose]();
          },
        };
      } catch (error) {
        watch[Symbol.dispose]();
        throw error;
      }
    },
  };
}

async function followEvents(
  board: DashboardBoard,
  watch: ReturnType<DashboardBoard["watch"]>,
  from: number,
  sink: LiveSink,
  signal: AbortSignal,
): Promise<void> {
  for (let after = from; ; ) {
    await watch.changed(signal);
    await systemClock.sleep(GATHER_MS, signal);
    await watch.mark(signal); // before the read, so that writes during the read are seen next time
    const changes = await board.store.changes(after, await board.settings(), signal);
    after = changes.lastEvent;
    sink.publish("board-change", await toChange(board, changes, signal));
  }
}

/** Publishes running cards whose last call or cost has changed. */
async function followRuns(board: DashboardBoard, sink: LiveSink, signal: AbortSignal): Promise<void> {
  const shown = new Map<string, string>();
  for (;;) {
    await systemClock.sleep(RUNNING_MS, signal);
    const running = await board.store.openRuns(undefined, signal);
    if (running.length === 0) {
      shown.clear();
      continue;
    }
    const calls = await board.lastCalls(
      running.map(({ run }) => run),
      signal,
    );
    const states = running.map(({ taskId, run }) => {
      const state = JSON.stringify([run.id, run.tokens, run.costUsd, calls.get(run.id) ?? null]);
      return { taskId, state };
    });
    const changed = states.filter(({ taskId, state }) => shown.get(taskId) !== state);
    const isFirst = shown.size === 0;
    shown.clear();
    for (const { taskId, state } of states) shown.set(taskId, state);
    if (isFirst || changed.length === 0) continue; // pages have just read the cards
    const ids = changed.map(({ taskId }) => taskId);
    const changes = await board.store.cardChanges(ids, await board.settings(), signal);
    sink.publish("board-change", await toChange(board, changes, signal));
  }
}

async function toChange(
  board: DashboardBoard,
  { cards, events, gone, counts, paused, lastEvent, isLarge }: BoardChanges,
  signal: AbortSignal,
): Promise<BoardChange> {
  const { store } = board;
  return {
    board: store.slug,
    cards: await toCards(board, cards, signal),
    gone: [...gone],
    counts,
    paused,
    event: lastEvent,
    events: await toEvents(store, events.slice(-MAX_EVENTS), signal),
    isLarge,
  };
}
