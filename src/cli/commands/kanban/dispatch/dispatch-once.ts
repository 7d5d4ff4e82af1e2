import { openDispatch } from "../../../../app/dispatch.ts";
import { runPass } from "../../../../board/dispatcher/run-pass.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { wrapIndented } from "../../../terminal/fit-text.ts";
import type { JsonOption, OpenBoardContext } from "../kanban-context.ts";
import { summarizePass, tasksToName } from "./pass-summary.ts";

interface DispatchOptions extends JsonOption {
  readonly dryRun?: boolean;
  readonly max?: number;
}

export async function dispatchOnce(
  open: OpenBoardContext,
  { dryRun = false, max, json }: DispatchOptions,
): Promise<void> {
  const {
    store,
    signal,
    context: { terminal },
  } = open;
  using dispatch = await openDispatch(open, signal);
  const isStopping = (): boolean => signal.aborted;
  const options = { isLast: true, dryRun, ...(max !== undefined && { maxStarts: max }), isStopping };
  const report = await runPass({ ...dispatch, ...options }, signal);
  if (json) return terminal.printJson(report);
  const names = await store.findTaskNames(tasksToName(report), signal);
  const { actions, startingSoon, notStarted } = summarizePass(report, names);
  const lines = [...actions, ...startingSoon, ...notStarted].map((line) =>
    wrapIndented(escapeControls(line), terminal.columns, 2),
  );
  terminal.print(lines.length === 0 ? "No tasks to start." : lines.join("\n"));
}
