import { boardsLocation, findBoards } from "../../../../app/board.ts";
import { openDispatchedBoard, ownDispatcher, policyOf } from "../../../../app/dispatch.ts";
import { boardPath } from "../../../../board/board-slug.ts";
import type { BoardStore } from "../../../../board/board-store.ts";
import { Announcements } from "../../../../board/database/postgres-announcements.ts";
import type { PassReport } from "../../../../board/dispatcher/pass-report.ts";
import type { DispatchPolicy } from "../../../../board/dispatcher/policy/resolve-dispatch-policy.ts";
import { type DispatchedBoard, runDispatcher } from "../../../../board/dispatcher/run-dispatcher.ts";
import { WakeFlag } from "../../../../board/dispatcher/wake-flag.ts";
import { AppError, messageOf } from "../../../../lib/errors.ts";
import { exists } from "../../../../lib/files/unless-missing.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { wrapIndented } from "../../../terminal/fit-text.ts";
import type { KanbanContext } from "../kanban-context.ts";
import { summarizePass, tasksToName } from "./pass-summary.ts";

const CLOCK_WIDTH = "00:00:00  ".length;

const formatClock = (): string => new Date().toLocaleTimeString("en-GB");

/** Dispatches all boards until stopped. The first signal lets the current pass finish, the second does not. */
export async function runDaemon(kanbanContext: KanbanContext): Promise<void> {
  const { context } = kanbanContext;
  const { terminal, signal } = context;
  const app = await kanbanContext.start();
  const log = await context.log();
  let policy: DispatchPolicy = policyOf(app);
  const { root, databaseUrl } = boardsLocation(app);
  const boardsTouched = new WakeFlag();
  await using announcements =
    databaseUrl === ""
      ? undefined
      : new Announcements({
          url: databaseUrl,
          onUnknownBoard: () => boardsTouched.touch(),
          onLost: (error) =>
            log.warn("changes are not announced; polling instead", { error: messageOf(error) }),
        });
  const stores = new Map<string, BoardStore>();
  const before = new Map<string, readonly string[]>();
  const opened = new Set<string>();
  let printed = Promise.resolve();
  /** Prints what a pass did, and the tasks that it did not start unless the previous pass printed the same. */
  const print = async (report: PassReport): Promise<void> => {
    const ids = tasksToName(report);
    const names = ids.length === 0 ? undefined : await stores.get(report.board)?.findTaskNames(ids, signal);
    const { actions, notStarted } = summarizePass(report, names ?? new Map());
    const known = before.get(report.board) ?? [];
    before.set(report.board, notStarted);
    for (const line of [...actions, ...notStarted.filter((one) => !known.includes(one))])
      terminal.note(
        wrapIndented(
          escapeControls(`${formatClock()}  ${report.board}: ${line}`),
          terminal.columns,
          CLOCK_WIDTH,
        ),
      );
  };
  const printInOrder = (report: PassReport): Promise<void> => {
    // The names of an unavailable board cannot be read; the dispatcher itself reports that failure.
    printed = printed.then(() => print(report)).catch(() => undefined);
    return printed;
  };
  terminal.note(
    `Dispatching, with a pass at least every ${policy.intervalMs / 1_000} s; press Ctrl-C to stop.`,
  );
  await runDispatcher(
    {
      ...(await ownDispatcher(signal)),
      listBoards: (within) => findBoards(app, within),
      boardsChanged: (within) => boardsTouched.next(within),
      async openBoard(slug, within): Promise<DispatchedBoard> {
        const path = boardPath(root, slug);
        // Do not create an empty board: the user may be about to restore a backup.
        if (opened.has(slug) && databaseUrl === "" && !(await exists(path)))
          throw new AppError("database-unavailable", `${path} no longer exists.`);
        opened.add(slug);
        const board = await openDispatchedBoard(app, slug, announcements, within);
        stores.set(slug, board.store);
        return {
          ...board,
          async [Symbol.asyncDispose]() {
            await printed;
            stores.delete(slug);
            await board[Symbol.asyncDispose]();
          },
        };
      },
      async loadPolicy() {
        try {
          policy = policyOf(await context.openApp());
        } catch (error) {
          log.warn("the settings cannot be read; using the previous ones", { error: messageOf(error) });
        }
        return policy;
      },
      onPass: (report) => void printInOrder(report),
      onIdle(report) {
        const passes = report.idle?.passes ?? 0;
        const text = `no task was started in ${passes} passes: ${summarizePass(report, new Map()).notStarted.join(" ")}`;
        log.warn("no task is started although tasks are ready", { board: report.board, why: text });
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
