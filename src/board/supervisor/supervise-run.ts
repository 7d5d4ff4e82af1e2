import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, messageOf } from "../../lib/errors.ts";
import { findIdentity, serialiseIdentity } from "../../lib/process/process-identity.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import { type BoardStore, openBoardStore } from "../board-store.ts";
import { releaseOwnSlot } from "../dispatcher/host-slots.ts";
import { isForgiven, type RunHistory, runEndingOf, type WorkerExit } from "../dispatcher/rules/run-ending.ts";
import { runMark } from "../worker/run-mark.ts";
import { callerOf, type RunOrder } from "../worker/run-order.ts";
import { removeRunTokens } from "../worker/run-token.ts";
import { WORKER_EXIT_CODES } from "../worker/worker-exits.ts";
import { awaitRunEnd } from "./await-run-end.ts";
import { classifyExit, type WatchEnd } from "./classify-exit.ts";
import { cleanUpAfterRun } from "./clean-up-after-run.ts";
import { END_GRACE_MS, endProcesses } from "./end-processes.ts";
import { findFullDisk } from "./find-full-disk.ts";
import { keepLease, type LeaseEnd, realTime } from "./keep-lease.ts";
import { openRunLog, type RunLog } from "./log/run-log.ts";
import { runProcesses } from "./process-table.ts";
import { leaveRunGroup } from "./run-cgroup.ts";
import { type ProcessExit, type StartedWorker, startWorker } from "./start-worker.ts";

/** How long a worker may take to exit after it has reported its result. */
const CLOSING_MS = 15_000;
/** Time between TERM and KILL of a worker whose run was ended from outside; short, because the task and its folder wait. */
const ENDED_GRACE_MS = 500;
const LONGEST_TIMER_MS = 2 ** 31 - 1; // a longer timer would fire at once
const RETRY_MS = 1_000;
/** How long a supervisor retries to record the end of a run while the disk of its board is full. */
const FULL_DISK_MS = 3_600_000;

/** How long to wait for the container engine; after that the run proceeds without the reclaim. */
const RECLAIM_MS = 10_000;
/** Outcomes of runs whose workers were killed and may have left a sandbox behind. */
const KILLED_OUTCOMES: ReadonlySet<string | null> = new Set([
  "crashed",
  "infra_killed",
  "reclaimed",
  "stale",
  "timed_out",
]);

/** Ends the sandboxes that killed workers left behind, whose processes are not our children; returns a line about each. */
export type ReclaimSandboxes = (order: RunOrder, signal: AbortSignal) => Promise<readonly string[]>;

export interface StartedPids {
  readonly supervisorPid: number;
  readonly workerPid: number;
}

/**
 * Supervises one run from its start to the record of its end: renews the lease; ends the worker at its time limit, when
 * the lease is lost or when `signal` aborts; reports the end once no process of the run is alive; then removes workspaces
 * that are no longer needed. Rejects only when no worker was started or all its processes have exited.
 */
export async function superviseRun(
  order: RunOrder,
  reclaim: ReclaimSandboxes,
  onStarted: (pids: StartedPids) => void,
  signal: AbortSignal,
): Promise<void> {
  const { run, location } = order;
  await leaveRunGroup();
  await using store = await openBoardStore(location, {}, signal);
  const client = store.as(callerOf(run));
  const age = realTime.stopwatch();
  await client.renew(undefined, signal);
  await client.describeRun({ supervisorPid: process.pid }, signal);
  using log = openRunLog(order.log.path, order.log);
  const reclaimAll = async (): Promise<void> => {
    for (const line of await reclaim(order, AbortSignal.timeout(RECLAIM_MS)).catch((error: unknown) => [
      `leftover sandboxes could not be reclaimed: ${messageOf(error)}`,
    ]))
      writeNotice(log, order, line);
  };
  const { runs } = await store.show(run.taskId, signal);
  if (KILLED_OUTCOMES.has(runs.findLast(({ id }) => id !== run.runId)?.outcome ?? null)) await reclaimAll();
  const worker = await startWorker(order, log, age());
  const query = { ...runProcesses(runMark(order.board, run)), group: worker.group };
  const done = new AbortController();
  const lease = keepLease(
    {
      leaseMs: run.leaseMs,
      age,
      renew: (within) => client.renew(undefined, within),
      onRenewed: worker.beat,
    },
    realTime,
    done.signal,
  );
  try {
    const identity = await findIdentity(worker.pid, signal);
    await client.describeRun(
      {
        workerPid: worker.pid,
        ...(identity && { workerIdentity: serialiseIdentity(identity) }),
        ...(order.route !== undefined && { route: order.route }),
      },
      signal,
    );
    onStarted({ supervisorPid: process.pid, workerPid: worker.pid });
    const watchEnd = await awaitWatchEnd({ store, worker, lease, order }, signal);
    const { HERMES_HOME: home = location.root, TMPDIR: temporary = tmpdir() } = order.worker.env;
    // Checked before the processes end, because their end may free disk space.
    const full = await findFullDisk([order.worker.cwd, home, location.root, temporary]);
    await endAll(query, graceOf(watchEnd));
    await removeRunTokens(order);
    await freeSlot(order);
    const exit = watchEnd.kind === "exited" ? watchEnd.exit : await exitWithin(worker);
    if (exit.code === null || exit.code === WORKER_EXIT_CODES.terminated) await reclaimAll();
    await worker.waitForOutput();
    const end = classifyExit(watchEnd, exit, worker.tail(), full);
    const recorded = end === undefined ? "the run had already ended" : await report(store, order, end);
    writeNotice(log, order, `${formatExit(exit)}; ${recorded}`);
    for (const line of await cleanUpAfterRun(order, store)) writeNotice(log, order, line);
    await recordExit(store, order, exit); // last, because a child task may need the branch that is checked out here
  } catch (error) {
    await endAll(query, 0);
    await recordExit(store, order, await exitWithin(worker));
    writeNotice(log, order, `its supervisor failed: ${messageOf(error)}`);
    throw error;
  } finally {
    done.abort();
  }
}

interface WatchedWorker {
  readonly store: BoardStore;
  readonly worker: StartedWorker;
  readonly lease: Promise<LeaseEnd>;
  readonly order: RunOrder;
}

/** Resolves when the worker has exited or must be ended. */
async function awaitWatchEnd(
  { store, worker, lease, order }: WatchedWorker,
  signal: AbortSignal,
): Promise<WatchEnd> {
  const { runId, maxRuntimeSeconds } = order.run;
  const waiting = new AbortController();
  const exited = worker.exited.then((exit): WatchEnd => ({ kind: "exited", exit }));
  const stopped = new Promise<WatchEnd>((resolve) => {
    const stop = (): void => resolve({ kind: "stopped" });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true, signal: waiting.signal });
  });
  try {
    const watchEnd = await Promise.race([
      exited,
      stopped,
      lease.then((end): WatchEnd => ({ kind: end === "unsure" ? "unsure" : "lost" })),
      awaitRunEnd(order, store, waiting.signal).then((): WatchEnd => ({ kind: "lost" })),
      awaitTimeLimit(maxRuntimeSeconds, waiting.signal),
    ]);
    if (watchEnd.kind !== "lost" && watchEnd.kind !== "stopped") return watchEnd;
    using deadline = openDeadline(waiting.signal, CLOSING_MS);
    const run = await store.findRun(runId, deadline.signal).catch(() => undefined);
    const isOverdue =
      run && maxRuntimeSeconds !== null && Date.now() - run.started_at >= maxRuntimeSeconds * 1_000;
    // A dispatcher may stop the supervisor of an overdue run before the supervisor's own timer fires.
    if (watchEnd.kind === "stopped" && isOverdue && run.ended_at === null)
      return { kind: "timed-out", seconds: maxRuntimeSeconds };
    if ((run?.ended_at ?? null) === null) return watchEnd;
    if (watchEnd.kind === "stopped" || run?.ended_by !== "run") return { kind: "ended" };
    // The worker itself ended its run with a result; it may still print its last output.
    return await Promise.race([
      exited,
      stopped,
      sleep(CLOSING_MS, undefined, { signal: waiting.signal }).then((): WatchEnd => ({ kind: "closed" })),
    ]);
  } finally {
    waiting.abort();
  }
}

async function awaitTimeLimit(seconds: number | null, signal: AbortSignal): Promise<WatchEnd> {
  if (seconds === null) return new Promise(() => undefined);
  const age = realTime.stopwatch();
  try {
    while (age() < seconds * 1_000)
      await sleep(Math.min(LONGEST_TIMER_MS, seconds * 1_000 - age()), undefined, { signal });
  } catch {
    return new Promise(() => undefined); // the caller no longer waits for this promise
  }
  return { kind: "timed-out", seconds };
}

function graceOf({ kind }: WatchEnd): number {
  if (kind === "ended") return ENDED_GRACE_MS;
  // No grace when another host may have claimed the task or the worker has exited.
  return kind === "lost" || kind === "unsure" || kind === "exited" ? 0 : END_GRACE_MS;
}

/** Repeats until all processes have exited, because a survivor could still write. The lease is renewed until then. */
async function endAll(query: Parameters<typeof endProcesses>[0], graceMs: number): Promise<void> {
  for (let grace = graceMs; (await endProcesses(query, grace)).length > 0; grace = 0) await sleep(RETRY_MS);
}

async function exitWithin(worker: StartedWorker): Promise<ProcessExit> {
  const late = sleep(RETRY_MS).then((): ProcessExit => ({ code: null, signal: null }));
  return Promise.race([worker.exited, late]);
}

/** Records the end of the run unless the run was superseded; returns a line for the log. */
async function report(store: BoardStore, order: RunOrder, end: WorkerExit): Promise<string> {
  // As the supervisor, because a worker has no right to end a run whose processes may be alive.
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
      // While the disk is full no other process can claim the task, and only this process knows the outcome.
      const isFull = (await findFullDisk([order.location.root])) !== undefined;
      if (age() >= (isFull ? FULL_DISK_MS : order.run.leaseMs))
        return `its end could not be recorded: ${messageOf(error)}`;
      await sleep(RETRY_MS);
    }
  }
}

/** Ignores failures: the slot is free at the latest when this process exits. */
async function freeSlot({ location, run }: RunOrder): Promise<void> {
  using deadline = openDeadline(new AbortController().signal, run.leaseMs / 3);
  await releaseOwnSlot(location.root, systemClock, deadline.signal).catch(() => undefined);
}

/** Records that all processes of a leaving run have exited, so that its slot and folder are free. */
async function recordExit(
  store: BoardStore,
  { run }: RunOrder,
  { code, signal }: ProcessExit,
): Promise<void> {
  using deadline = openDeadline(new AbortController().signal, run.leaseMs);
  const facts = { exit_code: code, ...(signal !== null && { signal }) };
  // If the write fails, the dispatcher of this host observes the end, or the lease expires.
  await store
    .as({ kind: "system", name: "supervisor" })
    .confirmRunExit(run.runId, facts, deadline.signal)
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

function formatExit({ code, signal }: ProcessExit): string {
  if (code !== null) return `exit ${code}`;
  return signal === null ? "its exit was not observed" : `killed by ${signal}`;
}

function writeNotice(log: RunLog, { run }: RunOrder, text: string): void {
  log.write(Buffer.from(`\n[hermes] run ${run.runId} of ${run.taskId}: ${text}\n`));
}
