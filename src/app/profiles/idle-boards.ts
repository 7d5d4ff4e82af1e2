import type { BoardStore } from "../../board/board-store.ts";
import type { ProfileWork } from "../../board/operations/boards/profile-names.ts";
import type { FailedVisit } from "../../board/registry/visit-boards.ts";
import { AppError } from "../../lib/errors.ts";

/** The open tasks of a profile on a board. Throws `task-running`, with a hint to end it, if one of them is running. */
export async function requireIdle(
  store: BoardStore,
  profile: string,
  signal: AbortSignal,
): Promise<ProfileWork> {
  const work = await store.workOf(profile, signal);
  const [id, ...others] = work.running;
  if (id === undefined) return work;
  const more = others.length === 0 ? "" : `, and ${others.length} more`;
  const kanban = `hermes kanban --board ${store.slug}`;
  throw new AppError("task-running", `${id} on the board ${store.slug} is running as ${profile}${more}.`, {
    // A dispatcher would immediately start a task again that is only reclaimed.
    hint: `Wait until it ends, or stop it with \`${kanban} hold ${id}\` and \`${kanban} reclaim ${id}\`; then run this command again.`,
  });
}

/** Throws if a board could not be used, unless `skipBoards` is set. */
export function requireNoFailedBoards(
  failed: readonly FailedVisit[],
  outcome: string,
  skipBoards = false,
): void {
  const [first] = failed;
  if (first === undefined || skipBoards) return;
  const reasons = failed.map(describeFailure).join("; ");
  throw new AppError(first.error.code, `${outcome}: ${reasons}.`, {
    cause: first.error,
    hint: `${first.error.hint} Or add --skip-boards to ignore such boards.`,
  });
}

export function describeFailure({ board, error }: FailedVisit): string {
  const what = board === undefined ? "the boards cannot be listed" : `the board ${board} cannot be used`;
  return `${what}: ${error.message.replace(/\.$/, "")}`;
}
