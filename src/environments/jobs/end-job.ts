import type { Clock } from "../../lib/clock.ts";
import { AppError } from "../../lib/errors.ts";
import { findTree, type ProcessRow, parseProcessRow, type StartedProcess } from "../channel/process-table.ts";
import type { Control } from "./control.ts";
import { PROCESSES, SIGNAL } from "./job-programs.ts";

const LOOK_EVERY_MS = 50;
const KILL_WITHIN_MS = 3_000;

export interface JobToEnd {
  readonly id: string;
  readonly root: StartedProcess | undefined;
  readonly graceMs: number;
}

/**
 * Ends all processes of a job: TERM, KILL after the grace, and a look at the process table until none is left. Resolves
 * to how many there were and to those that could not be ended.
 */
export async function endJob(
  { control, clock }: { readonly control: Control; readonly clock: Clock },
  { id, root, graceMs }: JobToEnd,
  signal: AbortSignal,
): Promise<{ readonly found: number; readonly survivors: readonly ProcessRow[] }> {
  const look = async (known: readonly ProcessRow[]): Promise<ProcessRow[]> =>
    findTree(await listProcesses(control, id, signal), root, known);
  const send = (name: "TERM" | "KILL", rows: readonly ProcessRow[]): Promise<unknown> =>
    control.run(SIGNAL, { fields: [name, ...rows.flatMap((row) => [row.pid, row.startTime])] }, signal);

  let left = await look([]);
  const found = left.length;
  if (found === 0) return { found, survivors: [] };
  await send("TERM", left);
  const killAt = clock.now() + graceMs;
  const giveUpAt = killAt + KILL_WITHIN_MS;
  for (let wasKilled = false; ; ) {
    const isLast = wasKilled && clock.now() >= giveUpAt; // however slow the place is, it is looked at after the KILL
    left = await look(left);
    if (left.length === 0 || isLast) return { found, survivors: left };
    if (clock.now() >= killAt) {
      await send("KILL", left);
      wasKilled = true;
    }
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

async function listProcesses(control: Control, id: string, signal: AbortSignal): Promise<ProcessRow[]> {
  const text = (await control.run(PROCESSES, { fields: [id] }, signal)).toString("latin1");
  const lines = text.split("\n");
  // Half a table would look as if processes had ended.
  if (lines.at(-2) !== ".") throw new AppError("job-unreachable", "the process table could not be read");
  return lines.flatMap((line) => parseProcessRow(line) ?? []);
}
