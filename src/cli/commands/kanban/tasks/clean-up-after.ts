import { type Cleanup, cleanUpAfter as cleanUp } from "../../../../app/clean-up-after.ts";
import type { OpenBoardContext } from "../kanban-context.ts";

/** The dependencies of a cleanup, whose notices become lines of the command. */
export function cleanupOf({ app, store, context }: OpenBoardContext): Cleanup {
  return { app, store, notify: (text) => context.terminal.note(`hermes: ${text}`) };
}

/** Removes the resources that an ended task no longer needs. */
export function cleanUpAfter(open: OpenBoardContext, taskId: string): Promise<void> {
  return cleanUp(cleanupOf(open), taskId, open.signal);
}
