import { DISPATCHER } from "../../../../board/dispatcher/dispatch-board.ts";
import { dispatchTick } from "../../../../board/dispatcher/dispatch-tick.ts";
import { findHolder, giveLeaseBack } from "../../../../board/dispatcher/operations/board-lease.ts";
import { escapeControls } from "../../../escape-controls.ts";
import { wrapIndented } from "../../../fit-text.ts";
import { requirePerson } from "../../../require-person.ts";
import { atBoard, type Desk, type JsonOption } from "../desk.ts";
import { openDispatch, ownDispatcher } from "./open-dispatch.ts";
import { summaryOf, tasksToName } from "./pass-summary.ts";

export interface DispatchOptions extends JsonOption {
  readonly dryRun?: boolean;
  readonly max?: number;
}

/** One pass over one board. */
export async function dispatchOnce(
  desk: Desk,
  { dryRun = false, max, json }: DispatchOptions,
): Promise<void> {
  requirePerson(desk);
  await atBoard(desk, async (open) => {
    const { context, signal } = open;
    await using dispatch = await openDispatch(open);
    const { board } = dispatch;
    for (const warning of dispatch.policy.warnings) context.terminal.note(`hermes: warning: ${warning}`);
    const self = await ownDispatcher(signal);
    const options = { dryRun, ...(max !== undefined && { max }), isStopping: () => signal.aborted };
    const report = await dispatchTick({ ...dispatch, ...self, ...options }, signal);
    if (!dryRun) {
      const holder = await board.read(findHolder, signal);
      if (holder?.owner === self.owner)
        await board.write(DISPATCHER, () => giveLeaseBack(holder.token), signal);
    }
    if (json) context.terminal.printJson(report);
    else {
      const { acts, soon, kept } = summaryOf(report, await open.store.nameTasks(tasksToName(report), signal));
      const lines = [...acts, ...soon, ...kept].map((line) =>
        wrapIndented(escapeControls(line), context.terminal.columns, 2),
      );
      context.terminal.print(lines.length === 0 ? "There is nothing to start." : lines.join("\n"));
    }
  });
}
