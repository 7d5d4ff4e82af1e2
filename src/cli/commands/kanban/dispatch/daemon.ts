import { policyOf } from "../../../../app/dispatch.ts";
import { dispatchAllBoards } from "../../../../app/dispatch-all-boards.ts";
import { findHostingGateway } from "../../../../app/server/gateway-status.ts";
import type { BoardStore } from "../../../../board/board-store.ts";
import type { PassReport } from "../../../../board/dispatcher/pass-report.ts";
import { messageOf } from "../../../../lib/errors.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { wrapIndented } from "../../../terminal/fit-text.ts";
import type { KanbanContext } from "../kanban-context.ts";
import { summarizePass, tasksNotStarted, tasksToName, withoutTasks } from "./pass-summary.ts";

const CLOCK_WIDTH = "00:00:00  ".length;

const formatClock = (): string => new Date().toLocaleTimeString("en-GB");

/** Dispatches all boards until stopped. The first signal lets the current pass finish, the second does not. */
export async function runDaemon(kanbanContext: KanbanContext): Promise<void> {
  const { context } = kanbanContext;
  const { terminal, signal } = context;
  const app = await kanbanContext.start();
  const log = await context.log();
  const gateway = await findHostingGateway(app, signal);
  if (gateway !== undefined)
    return terminal.note(
      `The gateway of this home (process ${gateway.pid}) dispatches the boards already; see \`hermes gateway status\`.`,
    );
  const before = new Map<
    string,
    { readonly tasks: ReadonlySet<string>; readonly lines: readonly string[] }
  >();
  let printed = Promise.resolve();
  /** Prints what a pass did, and the tasks that it did not start, except those of the previous pass with the same reason. */
  const print = async (report: PassReport, store: BoardStore | undefined): Promise<void> => {
    const known = before.get(report.board) ?? { tasks: new Set(), lines: [] };
    const changed = withoutTasks(report, known.tasks);
    const ids = tasksToName(changed);
    const names = ids.length === 0 ? undefined : await store?.findTaskNames(ids, signal);
    const { actions, notStarted } = summarizePass(changed, names ?? new Map());
    const { notStarted: lines } = summarizePass(report, new Map());
    before.set(report.board, { tasks: tasksNotStarted(report), lines });
    for (const line of [...actions, ...notStarted.filter((one) => !known.lines.includes(one))])
      terminal.note(
        wrapIndented(
          escapeControls(`${formatClock()}  ${report.board}: ${line}`),
          terminal.columns,
          CLOCK_WIDTH,
        ),
      );
  };
  const printInOrder = (report: PassReport, store: BoardStore | undefined): Promise<void> => {
    // The names of an unavailable board cannot be read; the dispatcher itself reports that failure.
    printed = printed.then(() => print(report, store)).catch(() => undefined);
    return printed;
  };
  terminal.note(
    `Dispatching, with a pass at least every ${policyOf(app).intervalMs / 1_000} s; press Ctrl-C to stop.`,
  );
  await dispatchAllBoards(
    app,
    {
      log,
      reload: () => context.openApp(),
      settled: () => printed,
      onPass: (report, store) => void printInOrder(report, store),
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
