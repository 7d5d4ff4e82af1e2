import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { shorten } from "../../lib/text/shorten.ts";
import { systemClock } from "../../lib/time/clock.ts";

/** A job that has a running process. */
export interface JobCommand {
  readonly id: string;
  /** Null if the job has no record. */
  readonly command: string | null;
}

/** Finds the commands of jobs, which the process table does not show. */
export type FindJobCommands = (ids: readonly string[], signal: AbortSignal) => Promise<readonly JobCommand[]>;

const SHOWN_CHARACTERS = 60;

/** Reads the profile's records; if they cannot be read, the commands are null. */
export function createJobCommandFinder(home: string): FindJobCommands {
  return async (ids, signal) => {
    if (ids.length === 0) return [];
    // Imported on demand, because most sandboxes have no jobs.
    const [{ openDatabase }, { jobMigration }] = await Promise.all([
      import("../../lib/sqlite/database.ts"),
      import("./job-store.ts"),
    ]);
    try {
      const options = { migrations: [jobMigration], synchronous: "NORMAL", clock: systemClock } as const;
      using database = await openDatabase(join(home, "jobs.sqlite"), options, signal);
      const find = database.prepare<{ command: string }>("select command from job where id = ?");
      return ids.map((id) => ({ id, command: find.get(id)?.command ?? null }));
    } catch (error) {
      if (!(error instanceof AppError) || signal.aborted) throw error;
      return findNoCommands(ids);
    }
  };
}

export async function findNoCommands(ids: readonly string[]): Promise<readonly JobCommand[]> {
  return ids.map((id) => ({ id, command: null }));
}

export function formatJob({ id, command }: JobCommand): string {
  return command === null ? id : `${id} (${formatCommandLine(command)})`;
}

/** Shortens a command to fit into a table or a sentence. */
export function formatCommandLine(command: string): string {
  const line = command.trim().replace(/\s+/g, " ");
  return shorten(line, SHOWN_CHARACTERS);
}
