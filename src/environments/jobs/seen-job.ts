import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { AppError } from "../../lib/errors.ts";
import { shorten } from "../../lib/shorten.ts";

/** A job of which a running process was seen. */
export interface SeenJob {
  readonly id: string;
  /** Null when no record tells. */
  readonly command: string | null;
}

/** Finds the commands of jobs, which no process shows. */
export type LookUpJobs = (ids: readonly string[], signal: AbortSignal) => Promise<readonly SeenJob[]>;

const SHOWN_CHARACTERS = 60;

/** Looks into the records of the profile; whoever only wants a name does without them when they cannot be read. */
export function lookUpJobsOf(home: string): LookUpJobs {
  return async (ids, signal) => {
    if (ids.length === 0) return [];
    // Loaded here, because most sandboxes have no job in them.
    const [{ openDatabase }, { jobMigration }] = await Promise.all([
      import("../../lib/database.ts"),
      import("./job-store.ts"),
    ]);
    try {
      const options = { migrations: [jobMigration], synchronous: "NORMAL", clock: systemClock } as const;
      using database = await openDatabase(join(home, "jobs.sqlite"), options, signal);
      const find = database.prepare<{ command: string }>("select command from job where id = ?");
      return ids.map((id) => ({ id, command: find.get(id)?.command ?? null }));
    } catch (error) {
      if (!(error instanceof AppError) || signal.aborted) throw error;
      return lookUpNothing(ids);
    }
  };
}

export async function lookUpNothing(ids: readonly string[]): Promise<readonly SeenJob[]> {
  return ids.map((id) => ({ id, command: null }));
}

export function showJob({ id, command }: SeenJob): string {
  return command === null ? id : `${id} (${oneLine(command)})`;
}

/** A command as it fits into a table or a sentence. */
export function oneLine(command: string): string {
  const line = command.trim().replace(/\s+/g, " ");
  return shorten(line, SHOWN_CHARACTERS);
}
