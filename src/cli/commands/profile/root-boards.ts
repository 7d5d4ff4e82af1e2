import type { BoardStore } from "../../../board/board-store.ts";
import type { BoardsPlace } from "../../../board/boards-place.ts";
import type { ProfileWork } from "../../../board/operations/profile-names.ts";
import { type BoardVisits, type FailedVisit, visitBoards } from "../../../board/visit-boards.ts";
import { loadConfig } from "../../../config/load.ts";
import { AppError } from "../../../lib/errors.ts";
import { listProfiles } from "../../../profiles/profile-store.ts";
import type { CommandContext } from "../../context.ts";

/** All boards on which a profile of this root can have tasks. */
export interface RootBoards {
  visit<Result>(work: (store: BoardStore) => Promise<Result>): Promise<BoardVisits<Result>>;
}

/** The boards below the root and on every server that a profile of it names. */
export async function findRootBoards(
  { variables, flags, signal }: CommandContext,
  root: string,
): Promise<RootBoards> {
  const places = new Map<string, BoardsPlace>();
  const unknown: FailedVisit[] = [];
  for (const { name, configPath, envPath } of await listProfiles(root)) {
    const { config, problems, variable } = await loadConfig({
      configPath,
      envPath,
      variables,
      flags: flags.settings,
    });
    const unread = problems.find(({ kind, where }) => kind === "unreadable" && where.startsWith(envPath));
    if (unread !== undefined) {
      const message = `${unread.where}: ${unread.message}; so it is unknown where the boards of ${name} are`;
      unknown.push({ board: undefined, error: new AppError("database-unavailable", message) });
    }
    const place = {
      root: variable("HERMES_KANBAN_HOME") || root,
      databaseUrl: config.kanban.database_url,
    };
    places.set(JSON.stringify(place.databaseUrl === "" ? place.root : [place.databaseUrl]), place);
  }
  return {
    async visit<Result>(work: (store: BoardStore) => Promise<Result>) {
      const all = { visited: [] as { board: string; result: Result }[], failed: [...unknown] };
      for (const place of places.values()) {
        const { visited, failed } = await visitBoards(place, work, signal);
        all.visited.push(...visited);
        all.failed.push(...failed);
      }
      return all;
    },
  };
}

/** What a profile has to do on a board; throws `task-running`, with the way to end it, while one of its tasks runs. */
export async function requireIdle(
  store: BoardStore,
  profile: string,
  signal: AbortSignal,
): Promise<ProfileWork> {
  const work = await store.workOf(profile, signal);
  const [id, ...others] = work.running;
  if (id === undefined) return work;
  const more = others.length === 0 ? "" : `, and ${others.length} more`;
  throw new AppError("task-running", `${id} on the board ${store.slug} is running as ${profile}${more}.`, {
    hint: `Wait until it has ended, or end it with \`hermes kanban --board ${store.slug} reclaim ${id}\`; then run the same command again.`,
  });
}

/** Throws the failure of the boards that could not be used, unless the person said to leave them out. */
export function requireAll(failed: readonly FailedVisit[], outcome: string, skipBoards = false): void {
  const [first] = failed;
  if (first === undefined || skipBoards) return;
  const reasons = failed.map(describeFailure).join("; ");
  throw new AppError(first.error.code, `${outcome}: ${reasons}.`, {
    cause: first.error,
    hint: `${first.error.hint} Or add --skip-boards to leave out what cannot be reached.`,
  });
}

export function describeFailure({ board, error }: FailedVisit): string {
  const what = board === undefined ? "the boards cannot be listed" : `the board ${board} cannot be used`;
  return `${what}: ${error.message.replace(/\.$/, "")}`;
}

/** For `--json`. */
export function failureRow({ board, error }: FailedVisit) {
  return { board: board ?? null, error: error.message };
}
