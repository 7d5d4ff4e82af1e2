import { type Cleanup, cleanUpAfter as cleanUp } from "../../../../app/clean-up-after.ts";
import type { OpenBoardContext } from "../kanban-context.ts";

/** What cleaning up works with; its notices are lines of the command. */
export function cleanupOf({ app, store, context }: OpenBoardContext): Cleanup {
  return { app, store, notify: (text) => context.terminal.note(`hermes: ${text}`) };
}

/** Removes what a task no longer needs after it has ended. */
export function cleanUpAfter(open: OpenBoardContext, taskId: string): Promise<void> {
  return cleanUp(cleanupOf(open), taskId, open.signal);
}
