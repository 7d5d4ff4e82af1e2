import { AppError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { findTree, type ProcessRow, parseProcessRow, type StartedProcess } from "../channel/process-table.ts";
import type { Control } from "./job-control.ts";
import { PROCESSES, SIGNAL } from "./job-programs.ts";

const POLL_EVERY_MS = 50;
const KILL_WITHIN_MS = 3_000;

export interface JobToEnd {
  readonly id: string;
  readonly root: StartedProcess | undefined;
  /** Start time of its first process; 0 if unknown. */
  readonly since: string;
  readonly graceMs: number;
}

/**
 * Ends all processes of a job: sends TERM, sends KILL after the grace period, and polls the process table until none is
 * left. Returns the number of processes found and those that could not be ended.
 */
export async function endJob(
  { control, clock }: { readonly control: Control; readonly clock: Clock },
  { id, root, since, graceMs }: JobToEnd,
  signal: AbortSignal,
): Promise<{ readonly found: number; readonly survivors: readonly ProcessRow[] }> {
  const listTree = async (known: readonly ProcessRow[]): Promise<ProcessRow[]> =>
    findTree(await listProcesses(control, [id, since], signal), root, known);
  const send = (name: "TERM" | "KILL", rows: readonly ProcessRow[]): Promise<unknown> =>
    control.run(SIGNAL, { fields: [name, ...rows.flatMap((row) => [row.pid, row.startTime])] }, signal);

  let left = await listTree([]);
  const found = left.length;
  if (found === 0) return { found, survivors: [] };
  await send("TERM", left);
  const killAt = clock.now() + graceMs;
  const giveUpAt = killAt + KILL_WITHIN_MS;
  for (let wasKilled = false; ; ) {
    const isLast = wasKilled && clock.now() >= giveUpAt; // polls at least once after KILL, even in a slow environment
    left = await listTree(left);
    if (left.length === 0 || isLast) return { found, survivors: left };
    if (clock.now() >= killAt) {
      await send("KILL", left);
      wasKilled = true;
    }
    await clock.sleep(POLL_EVERY_MS, signal);
  }
}

async function listProcesses(
  control: Control,
  fields: readonly [id: string, since: string],
  signal: AbortSignal,
): Promise<ProcessRow[]> {
  const text = (await control.run(PROCESSES, { fields }, signal)).toString("latin1");
  const lines = text.split("\n");
  // In a truncated table, processes would seem to have ended.
  if (lines.at(-2) !== ".") throw new AppError("job-unreachable", "the process table could not be read");
  return lines.flatMap((line) => parseProcessRow(line) ?? []);
}
