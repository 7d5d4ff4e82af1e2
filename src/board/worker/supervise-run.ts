import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../lib/clock.ts";
import { openDeadline } from "../../lib/deadline.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import { identityOf, serialiseIdentity } from "../../lib/process-identity.ts";
import { type BoardStore, openBoardStore } from "../board-store.ts";
import { releaseOwnSlot } from "../dispatcher/host-slots.ts";
import { isForgiven, type RunHistory, runEndingOf, type WorkerExit } from "../dispatcher/run-ending.ts";
import { awaitRunEnd } from "./await-run-end.ts";
import { cleanUpAfterRun } from "./clean-up-after-run.ts";
import { END_GRACE_MS, endProcesses } from "./end-processes.ts";
import { findFullDisk } from "./find-full-disk.ts";
import { judgeEnd, type RunFate } from "./judge-end.ts";
import { keepLease, type LeaseEnd, realTime } from "./keep-lease.ts";
import { runProcesses } from "./process-table.ts";
import { leaveRunGroup } from "./run-cgroup.ts";
import { openRunLog, type RunLog } from "./run-log.ts";
import { runMark } from "./run-mark.ts";
import { callerOf, type RunOrder } from "./run-order.ts";
import { type ProcessExit, type StartedWorker, startWorker } from "./start-worker.ts";
import { WORKER_EXITS } from "./worker-exits.ts";

/** How long a worker may take to end once it has handed in its result. */
const CLOSING_MS = 15_000;
/** Between TERM and KILL of a worker whose run someone else has ended; the task and the folder wait for it. */
const ENDED_GRACE_MS = 500;
const LONGEST_TIMER_MS = 2 ** 31 - 1; // a longer one would fire at once
const RETRY_MS = 1_000;
/** How long the end of a run waits for room on the disk of its board. */
const FULL_DISK_MS = 3_600_000;

/** For the engine; a run that waits for it longer goes on without. */
const RECLAIM_MS = 10_000;
/** How runs end whose workers were killed, and may have left a sandbox behind. */
const CUT_OFF: ReadonlySet<string | null> = new Set([
  "crashed",
  "infra_killed",
  "reclaimed",
  "stale",
  "timed_out",
]);

/**
 * Ends the sandboxes that killed workers of a profile have left, and says which: what runs in there is no process of
 * ours, and could still write to a workspace.
 */
export type ReclaimSandboxes = (order: RunOrder, signal: AbortSignal) => Promise<readonly string[]>;

export interface StartedPids {
  readonly supervisorPid: number;
  readonly workerPid: number;
}

/**
 * Looks after one run from its start to the record of its end: keeps the lease, ends the worker when its time or its
 * lease is over or `signal` says so, reports how it ended once nothing of it is left, and then removes what workspaces
 * nobody needs any more. Rejects only when no worker was started, or nothing of it lives any more.
 */
export async function superviseRun(
  order: RunOrder,
  reclaim: ReclaimSandboxes,
  onStarted: (pids: StartedPids) => void,
  signal: AbortSignal,
): Promise<void> {
  const { run, place } = order;
  await leaveRunGroup();
  await using store = await openBoardStore(place, {}, signal);
  const client = store.as(callerOf(run));
  const age = realTime.stopwatch();
  await client.renew(undefined, signal);
  await client.describeRun({ supervisorPid: process.pid }, signal);
  using log = openRunLog(order.log.path, order.log);
  const reclaimAll = async (): Promise<void> => {
    for (const news of await reclaim(order, AbortSignal.timeout(RECLAIM_MS)).catch((error: unknown) => [
      `sandboxes that may be left were not looked for: ${messageOf(error)}`,
    ]))
      say(log, order, news);
  };
  const { runs } = await store.show(run.taskId, signal);
  if (CUT_OFF.has(runs.findLast(({ id }) => id !== run.runId)?.outcome ?? null)) await reclaimAll();
  const worker = await startWorker(order, log, age());
  const query = { ...runProcesses(runMark(order.board, run)), group: worker.group };
  const over = new AbortController();
  const lease = keepLease(
    {
      leaseMs: run.leaseMs,
      age,
      renew: (within) => client.renew(undefined, within),
      onRenewed: worker.beat,
    },
    realTime,
    over.signal,
  );
  try {
    const identity = await identityOf(worker.pid, signal);
    await client.describeRun(
      {
        workerPid: worker.pid,
        ...(identity && { workerIdentity: serialiseIdentity(identity) }),
        ...(order.route !== undefined && { route: order.route }),
      },
      signal,
    );
    onStarted({ supervisorPid: process.pid, workerPid: worker.pid });
    const fate = await awaitFate({ store, worker, lease, order }, signal);
    const { HERMES_HOME: home = place.root, TMPDIR: temporary = tmpdir() } = order.worker.env;
    // Before what it used is free again.
    const full = await findFullDisk([order.worker.cwd, home, place.root, temporary]);
    await endAll(query, graceOf(fate));
    await freeSlot(order);
    const exit = fate.kind === "exited" ? fate.exit : await exitWithin(worker);
    if (exit.code === null || exit.code === WORKER_EXITS.terminated) await reclaimAll();
    await worker.drained();
    const end = judgeEnd(fate, exit, worker.tail(), full);
    say(
      log,
      order,
      `${exitWords(exit)}; ${end === undefined ? "the run was ended before" : await report(store, order, end)}`,
    );
    for (const news of await cleanUpAfterRun(order, store)) say(log, order, news);
    await letGo(store, order, exit); // last: a child may need the branch that is checked out here
  } catch (error) {
    await endAll(query, 0);
    await letGo(store, order, await exitWithin(worker));
    say(log, order, `its supervisor failed: ${messageOf(error)}`);
    throw error;
  } finally {
    over.abort();
  }
}

interface Watched {
  readonly store: BoardStore;
  readonly worker: StartedWorker;
  readonly lease: Promise<LeaseEnd>;
  readonly order: RunOrder;
}

/** Resolves when the worker has ended or must. */
async function awaitFate({ store, worker, lease, order }: Watched, signal: AbortSignal): Promise<RunFate> {
  const { runId, maxRuntimeSeconds } = order.run;
  const waiting = new AbortController();
  const exited = worker.exited.then((exit): RunFate => ({ kind: "exited", exit }));
  const stopped = new Promise<RunFate>((resolve) => {
    const stop = (): void => resolve({ kind: "stopped" });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true, signal: waiting.signal });
  });
  try {
    const fate = await Promise.race([
      exited,
      stopped,
      lease.then((end): RunFate => ({ kind: end === "unsure" ? "unsure" : "lost" })),
      awaitRunEnd(order, store, waiting.signal).then((): RunFate => ({ kind: "lost" })),
      runtimeOver(maxRuntimeSeconds, waiting.signal),
    ]);
    if (fate.kind !== "lost" && fate.kind !== "stopped") return fate;
    using deadline = openDeadline(waiting.signal, CLOSING_MS);
    const run = await store.findRun(runId, deadline.signal).catch(() => undefined);
    if ((run?.ended_at ?? null) === null) return fate;
    if (fate.kind === "stopped" || run?.ended_by !== "run") return { kind: "ended" };
    // The worker itself ends its run when it hands in a result, and may then say goodbye.
    return await Promise.race([
      exited,
      stopped,
      sleep(CLOSING_MS, undefined, { signal: waiting.signal }).then((): RunFate => ({ kind: "closed" })),
    ]);
  } finally {
    waiting.abort();
  }
}

async function runtimeOver(seconds: number | null, signal: AbortSignal): Promise<RunFate> {
  if (seconds === null) return new Promise(() => undefined);
  const age = realTime.stopwatch();
  try {
    while (age() < seconds * 1_000)
      await sleep(Math.min(LONGEST_TIMER_MS, seconds * 1_000 - age()), undefined, { signal });
  } catch {
    return new Promise(() => undefined); // something else happened first
  }
  return { kind: "timed-out", seconds };
}

function graceOf({ kind }: RunFate): number {
  if (kind === "ended") return ENDED_GRACE_MS;
  // Where the task may be another's already, or the worker is gone, nobody is given time.
  return kind === "lost" || kind === "unsure" || kind === "exited" ? 0 : END_GRACE_MS;
}

/** Until nobody is left: what still runs could still write, and the lease is kept meanwhile. */
async function endAll(query: Parameters<typeof endProcesses>[0], graceMs: number): Promise<void> {
  for (let grace = graceMs; (await endProcesses(query, grace)).length > 0; grace = 0) await sleep(RETRY_MS);
}

async function exitWithin(worker: StartedWorker): Promise<ProcessExit> {
  const late = sleep(RETRY_MS).then((): ProcessExit => ({ code: null, signal: null }));
  return Promise.race([worker.exited, late]);
}

/** Writes the end down, if it is still ours to write, and says how that went. */
async function report(store: BoardStore, order: RunOrder, end: WorkerExit): Promise<string> {
  // Not as the worker, which may not do this: whoever ends a run must have seen its processes end.
  const client = store.as({ kind: "system", name: "supervisor" });
  const age = realTime.stopwatch();
  for (;;) {
    using deadline = openDeadline(new AbortController().signal, order.run.leaseMs);
    try {
      const history = await loadHistory(store, order, deadline.signal);
      const ending = runEndingOf(end, history, order.policy, Math.random);
      const { status } = await client.endRun(ending, deadline.signal);
      return `${end.outcome}, the task is ${status}`;
    } catch (error) {
      if (error instanceof AppError && error.code === "run-superseded")
        return `the run had ended: ${await outcomeOf(store, order)}`;
      // On a disk without room nobody else can take the task, and only we know what happened.
      const isFull = (await findFullDisk([order.place.root])) !== undefined;
      if (age() >= (isFull ? FULL_DISK_MS : order.run.leaseMs))
        return `its end could not be recorded: ${messageOf(error)}`;
      await sleep(RETRY_MS);
    }
  }
}

/** What goes wrong here is no more than a place that is free only when this process ends. */
async function freeSlot({ place, run }: RunOrder): Promise<void> {
  using deadline = openDeadline(new AbortController().signal, run.leaseMs / 3);
  await releaseOwnSlot(place.root, systemClock, deadline.signal).catch(() => undefined);
}

/** Says that nothing of a run lives that someone else, or the worker itself, had ended: its place is free. */
async function letGo(store: BoardStore, { run }: RunOrder, { code, signal }: ProcessExit): Promise<void> {
  using deadline = openDeadline(new AbortController().signal, run.leaseMs);
  const facts = { exit_code: code, ...(signal !== null && { signal }) };
  // What cannot be written is found out by the dispatcher of this host, or is over with the lease.
  await store
    .as({ kind: "system", name: "supervisor" })
    .seeEnd(run.runId, facts, deadline.signal)
    .catch(() => undefined);
}

async function outcomeOf(store: BoardStore, { run }: RunOrder): Promise<string> {
  using deadline = openDeadline(new AbortController().signal, run.leaseMs);
  return (await store.findRun(run.runId, deadline.signal))?.outcome ?? "unknown";
}

async function loadHistory(store: BoardStore, { run }: RunOrder, signal: AbortSignal): Promise<RunHistory> {
  const { task, runs } = await store.show(run.taskId, signal);
  const before = runs
    .filter(({ id, outcome }) => id !== run.runId && outcome !== "rate_limited")
    .toReversed();
  const other = before.findIndex(({ outcome }) => outcome !== "protocol_violation");
  const violations = other === -1 ? before.length : other;
  const counted = before.findIndex((one) => !isForgiven(one));
  const forgiven = counted === -1 ? before.length : counted;
  return { runId: run.runId, failures: task.consecutive_failures, violations, forgiven };
}

function exitWords({ code, signal }: ProcessExit): string {
  if (code !== null) return `exit ${code}`;
  return signal === null ? "no exit was seen" : `killed by ${signal}`;
}

function say(log: RunLog, { run }: RunOrder, text: string): void {
  log.write(Buffer.from(`\n[hermes] run ${run.runId} of ${run.taskId}: ${text}\n`));
}
