import { openDeadline } from "../../lib/deadline.ts";
import { waitAtMost } from "../../lib/wait-at-most.ts";
import type { Survivor } from "../environment.ts";
import type { Channel, ChannelEnd } from "./channel.ts";
import { findTree, type ProcessRow, type StartedProcess } from "./process-table.ts";

/** Ends processes as another user, where our shell may not. */
export type KillAs = (user: number, pids: readonly number[], signal: AbortSignal) => Promise<void>;

export interface TreeToEnd {
  /** The command's own process, if it got far enough to tell. */
  readonly root: StartedProcess | undefined;
  readonly mark: string;
  readonly end: Promise<ChannelEnd>;
  readonly killAs: KillAs | undefined;
  /** Whether the whole place stands still, so that no answer can come; asked when one takes long. */
  readonly isHalted: ((signal: AbortSignal) => Promise<boolean>) | undefined;
}

const GRACE_MS = 500;
const KILL_WITHIN_MS = 3_000;
const LOOK_EVERY_MS = 25;
/** A place that takes longer than this for a look at its processes does not answer. */
const ANSWER_WITHIN_MS = 10_000;
/** A place that answers at all mostly does so within this time. */
const ASK_HALTED_AFTER_MS = 1_000;

/**
 * Ends a command with all its descendants: TERM, KILL after a moment, and a look at the process table until none is
 * left. Resolves to those that could not be ended; undefined when the place did not answer and nobody knows.
 */
export async function endTree(
  channel: Channel,
  { root, mark, end, killAs, isHalted }: TreeToEnd,
): Promise<Survivor[] | undefined> {
  const stop = new AbortController();
  let known: ProcessRow[] = [];
  let hasTable = false;
  let answered = false;
  const look = async (): Promise<ProcessRow[]> => {
    using within = openDeadline(stop.signal, ANSWER_WITHIN_MS);
    let isLate = true;
    const answer = channel.processes(mark, within.signal).finally(() => {
      isLate = false;
    });
    await waitAtMost(ASK_HALTED_AFTER_MS, answer);
    const rows = isLate && (await isHalted?.(within.signal)) ? undefined : await answer;
    if (rows === undefined) {
      stop.abort();
      return known;
    }
    answered = true;
    hasTable ||= rows.length > 0;
    known = findTree(rows, root, known);
    return known;
  };

  let left = await look();
  // Without a process table (no /proc) the group is all we can reach; the wrapper's word is then the proof.
  if (root !== undefined && !hasTable) channel.kill("TERM", [-root.pid]);
  channel.kill(
    "TERM",
    left.map((row) => row.pid),
  );
  const graceEnds = performance.now() + GRACE_MS;
  while (left.length > 0 && performance.now() < graceEnds && !stop.signal.aborted) {
    await pause(LOOK_EVERY_MS);
    left = await look();
  }
  const giveUpAt = performance.now() + KILL_WITHIN_MS;
  // However slow the place is, it is looked at after the last KILL.
  for (let isLast = false; left.length > 0 && !isLast && !stop.signal.aborted; ) {
    isLast = performance.now() >= giveUpAt;
    channel.kill(
      "KILL",
      left.map((row) => row.pid),
    );
    await pause(LOOK_EVERY_MS);
    const after = await look();
    if (killAs && after.length > 0 && sameProcesses(left, after)) {
      using within = openDeadline(stop.signal, ANSWER_WITHIN_MS);
      await killEachAs(after, killAs, within.signal);
      left = await look();
    } else left = after;
  }
  if (root !== undefined && !hasTable) channel.kill("KILL", [-root.pid]);
  await waitAtMost(GRACE_MS, end);
  return answered ? left.map(({ pid, user }) => ({ pid, user })) : undefined;
}

async function killEachAs(rows: readonly ProcessRow[], killAs: KillAs, signal: AbortSignal): Promise<void> {
  const users = new Set(rows.map((row) => row.user));
  for (const user of users) {
    if (user === undefined) continue;
    const pids = rows.filter((row) => row.user === user).map((row) => row.pid);
    try {
      await killAs(user, pids, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return; // out of time: whoever is left is told as a survivor
    }
  }
}

function sameProcesses(left: readonly ProcessRow[], right: readonly ProcessRow[]): boolean {
  const pids = new Set(left.map((row) => row.pid));
  return right.some((row) => pids.has(row.pid));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
