import { openDeadline } from "../../lib/time/deadline.ts";
import { waitAtMost } from "../../lib/time/wait-at-most.ts";
import type { Survivor } from "../environment.ts";
import type { Channel, ChannelEnd } from "./channel.ts";
import { findTree, type ProcessRow, type StartedProcess } from "./process-table.ts";

/** Kills processes of another user, which our shell may not signal. */
export type KillAs = (user: number, pids: readonly number[], signal: AbortSignal) => Promise<void>;

export interface TreeToEnd {
  /** The command's own process, if it has reported its start. */
  readonly root: StartedProcess | undefined;
  readonly mark: string;
  readonly end: Promise<ChannelEnd>;
  readonly killAs: KillAs | undefined;
  /** Whether the whole environment is paused and cannot answer; called if an answer is late. */
  readonly isPaused: ((signal: AbortSignal) => Promise<boolean>) | undefined;
}

const GRACE_MS = 500;
const KILL_TIMEOUT_MS = 3_000;
const POLL_INTERVAL_MS = 25;
/** An environment that takes longer to list its processes counts as unresponsive. */
const ANSWER_TIMEOUT_MS = 10_000;
/** A responsive environment usually answers within this time. */
const ASK_PAUSED_AFTER_MS = 1_000;

/**
 * Ends a command with all its descendants: sends TERM, then KILL after a grace period, and polls until none is
 * left. Resolves to the survivors; undefined if the environment did not answer and the result is unknown.
 */
export async function endTree(
  channel: Channel,
  { root, mark, end, killAs, isPaused }: TreeToEnd,
): Promise<Survivor[] | undefined> {
  const stop = new AbortController();
  let known: ProcessRow[] = [];
  let hasTable = false;
  let answered = false;
  const pollTree = async (): Promise<ProcessRow[]> => {
    using deadline = openDeadline(stop.signal, ANSWER_TIMEOUT_MS);
    let isLate = true;
    const answer = channel.processes(mark, deadline.signal).finally(() => {
      isLate = false;
    });
    await waitAtMost(ASK_PAUSED_AFTER_MS, answer);
    const rows = isLate && (await isPaused?.(deadline.signal)) ? undefined : await answer;
    if (rows === undefined) {
      stop.abort();
      return known;
    }
    answered = true;
    hasTable ||= rows.length > 0;
    known = findTree(rows, root, known);
    return known;
  };

  let left = await pollTree();
  // Without a process table (no /proc) only the group can be signalled; the wrapper then reports the end.
  if (root !== undefined && !hasTable) channel.kill("TERM", [-root.pid]);
  channel.kill(
    "TERM",
    left.map((row) => row.pid),
  );
  const graceEnds = performance.now() + GRACE_MS;
  while (left.length > 0 && performance.now() < graceEnds && !stop.signal.aborted) {
    await pause(POLL_INTERVAL_MS);
    left = await pollTree();
  }
  const giveUpAt = performance.now() + KILL_TIMEOUT_MS;
  // Poll after the last KILL too, however slow the environment is.
  for (let isLast = false; left.length > 0 && !isLast && !stop.signal.aborted; ) {
    isLast = performance.now() >= giveUpAt;
    channel.kill(
      "KILL",
      left.map((row) => row.pid),
    );
    await pause(POLL_INTERVAL_MS);
    const after = await pollTree();
    if (killAs && after.length > 0 && sameProcesses(left, after)) {
      using deadline = openDeadline(stop.signal, ANSWER_TIMEOUT_MS);
      await killEachAs(after, killAs, deadline.signal);
      left = await pollTree();
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
      return; // timed out: the remaining processes are reported as survivors
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
