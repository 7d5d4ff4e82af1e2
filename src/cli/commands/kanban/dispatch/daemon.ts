import { boardsPlace } from "../../../../app.ts";
import { openBoardStore } from "../../../../board/board-store.ts";
import { openPostgresAnnouncements } from "../../../../board/database/postgres-announcements.ts";
import type { DispatchPolicy } from "../../../../board/dispatcher/resolve-dispatch-policy.ts";
import { type DispatchedBoard, runDispatcher } from "../../../../board/dispatcher/run-dispatcher.ts";
import { Touch } from "../../../../board/dispatcher/touch.ts";
import { watchBoard } from "../../../../board/dispatcher/watch-board.ts";
import { systemClock } from "../../../../lib/clock.ts";
import { messageOf } from "../../../../lib/errors.ts";
import { findBoards } from "../board-folders.ts";
import { type Desk, requirePerson } from "../desk.ts";
import { summaryOf } from "./dispatch-once.ts";
import { openDispatch, ownDispatcher, policyOf } from "./open-dispatch.ts";

/** Dispatches all boards until it is asked to stop: the first signal lets the pass under way end, the second does not. */
export async function runDaemon(desk: Desk): Promise<void> {
  requirePerson(desk);
  const { context } = desk;
  const { terminal, signal } = context;
  const app = await desk.start();
  const log = await context.log();
  let policy: DispatchPolicy = policyOf(app);
  const { databaseUrl } = boardsPlace(app);
  const news = new Touch();
  await using announcements =
    databaseUrl === ""
      ? undefined
      : openPostgresAnnouncements({
          url: databaseUrl,
          onNews: () => news.touch(),
          onLost: (error) =>
            log.warn("changes are not announced; looking instead", { error: messageOf(error) }),
        });
  terminal.note(`Dispatching; stop with Ctrl-C. A pass at least every ${policy.intervalMs / 1_000} s.`);
  await runDispatcher(
    {
      ...(await ownDispatcher(signal)),
      listBoards: (within) => findBoards(app, within),
      boardsChanged: (within) => news.next(within),
      async openBoard(slug, within): Promise<DispatchedBoard> {
        const place = { ...boardsPlace(app), slug };
        const store = await openBoardStore(place, { connections: 1 }, within);
        try {
          const dispatch = await openDispatch({ app, store, context, signal: within });
          const watch = watchBoard(place, dispatch.board, systemClock, announcements);
          return {
            ...dispatch,
            watch,
            async [Symbol.asyncDispose]() {
              watch[Symbol.dispose]();
              await dispatch[Symbol.asyncDispose]();
              await store[Symbol.asyncDispose]();
            },
          };
        } catch (error) {
          await store[Symbol.asyncDispose]();
          throw error;
        }
      },
      async loadPolicy() {
        try {
          policy = policyOf(await context.openApp());
        } catch (error) {
          log.warn("the settings cannot be read; going on with those before", { error: messageOf(error) });
        }
        return policy;
      },
      onPass(report) {
        if (report.spawned.length + report.spawn_failed.length === 0) return;
        terminal.note(`${report.board}: ${summaryOf(report).join("; ")}`);
      },
      onIdle(report) {
        const passes = report.idle?.passes ?? 0;
        const text = `nothing was started in ${passes} passes: ${summaryOf(report).join("; ")}`;
        log.warn("nothing is started although tasks are ready", { board: report.board, why: text });
        terminal.note(`hermes: warning: ${report.board}: ${text}`);
      },
      onFailure(slug, error) {
        log.error("a board could not be dispatched", { board: slug, error: messageOf(error) });
        terminal.note(`hermes: ${slug}: ${messageOf(error)}`);
      },
    },
    signal,
  );
}
