import { boardsPlace } from "../../../../app.ts";
import { type BoardStore, openBoardStore } from "../../../../board/board-store.ts";
import { openPostgresAnnouncements } from "../../../../board/database/postgres-announcements.ts";
import type { DispatchPolicy } from "../../../../board/dispatcher/resolve-dispatch-policy.ts";
import { type DispatchedBoard, runDispatcher } from "../../../../board/dispatcher/run-dispatcher.ts";
import type { TickReport } from "../../../../board/dispatcher/tick-report.ts";
import { Touch } from "../../../../board/dispatcher/touch.ts";
import { watchBoard } from "../../../../board/dispatcher/watch-board.ts";
import { systemClock } from "../../../../lib/clock.ts";
import { messageOf } from "../../../../lib/errors.ts";
import { escapeControls } from "../../../escape-controls.ts";
import { wrapIndented } from "../../../fit-text.ts";
import { requirePerson } from "../../../require-person.ts";
import { findBoards } from "../board-folders.ts";
import type { Desk } from "../desk.ts";
import { openDispatch, ownDispatcher, policyOf } from "./open-dispatch.ts";
import { summaryOf, tasksToName } from "./pass-summary.ts";

const CLOCK_WIDTH = "00:00:00  ".length;

const formatClock = (): string => new Date().toLocaleTimeString("en-GB");

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
  const stores = new Map<string, BoardStore>();
  const before = new Map<string, readonly string[]>();
  let said = Promise.resolve();
  /** Says what a pass did, and what it kept back if the pass before did not say so already. */
  const say = async (report: TickReport): Promise<void> => {
    const ids = tasksToName(report);
    const names = ids.length === 0 ? undefined : await stores.get(report.board)?.nameTasks(ids, signal);
    const { acts, kept } = summaryOf(report, names ?? new Map());
    const known = before.get(report.board) ?? [];
    before.set(report.board, kept);
    for (const line of [...acts, ...kept.filter((one) => !known.includes(one))])
      terminal.note(
        wrapIndented(
          escapeControls(`${formatClock()}  ${report.board}: ${line}`),
          terminal.columns,
          CLOCK_WIDTH,
        ),
      );
  };
  const sayInTurn = (report: TickReport): Promise<void> => {
    // A board that went away meanwhile has no names to say; its failure is told by the dispatcher itself.
    said = said.then(() => say(report)).catch(() => undefined);
    return said;
  };
  terminal.note(`Dispatching; stop with Ctrl-C. A pass at least every ${policy.intervalMs / 1_000} s.`);
  await runDispatcher(
    {
      ...(await ownDispatcher(signal)),
      listBoards: (within) => findBoards(app, within),
      boardsChanged: (within) => news.next(within),
      async openBoard(slug, within): Promise<DispatchedBoard> {
        const place = { ...boardsPlace(app), slug };
        const store = await openBoardStore(place, { connections: 1 }, within);
        stores.set(slug, store);
        try {
          const dispatch = await openDispatch({ app, store, context, signal: within });
          const watch = watchBoard(place, dispatch.board, systemClock, announcements);
          return {
            ...dispatch,
            watch,
            async [Symbol.asyncDispose]() {
              watch[Symbol.dispose]();
              await dispatch[Symbol.asyncDispose]();
              await said;
              stores.delete(slug);
              await store[Symbol.asyncDispose]();
            },
          };
        } catch (error) {
          stores.delete(slug);
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
      onPass: (report) => void sayInTurn(report),
      onIdle(report) {
        const passes = report.idle?.passes ?? 0;
        const text = `nothing was started in ${passes} passes: ${summaryOf(report, new Map()).kept.join(" ")}`;
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
