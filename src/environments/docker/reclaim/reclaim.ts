import { messageOf } from "../../../lib/errors.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import { type FindJobCommands, findNoCommands, formatJob } from "../../jobs/job-command.ts";
import { type Engine, engineAddress, formatFailure, succeeded } from "../engine/engine.ts";
import { listFilledMemoryFolders } from "../isolation/memory-folders.ts";
import { jobsAmong, listSandboxProcesses } from "../isolation/sandbox-processes.ts";
import { type Container, findContainer, listContainers } from "../lifecycle/container.ts";
import { findLastUse } from "../lifecycle/last-use.ts";
import { removeSandbox, stopSandbox } from "../lifecycle/remove-sandbox.ts";
import { deleteSandboxRecord, loadRecords, type SandboxStore } from "../lifecycle/sandbox-record.ts";
import { isOurs, LABEL } from "../spec/labels.ts";
import { isReplacedNameOf, parseReplacedTime } from "../spec/sandbox-names.ts";
import {
  formatMinute,
  type KeepRules,
  keptUntil,
  loadRecordStatuses,
  type RecordStatus,
  stoppedSince,
} from "./keep-rules.ts";

const REMOVE_TIMEOUT_MS = 30_000;
const STOPPED_TTL = "terminal.docker_stopped_ttl_seconds";
const OWNER_EXITED = "the process that created it has exited";
/** Longer than any replacement takes: until then, recovery may restore the old container. */
const ASIDE_MS = 15 * 60 * 1_000;

export interface ReclaimRules extends KeepRules {
  /** Undefined means all profiles. */
  readonly profileId: string | undefined;
  /** The profiles whose records can be read. */
  readonly stores: readonly SandboxStore[];
  /** 0 means never. */
  readonly idleTtlSeconds: number;
  /** 0 means never. */
  readonly maxAgeSeconds: number;
  readonly dryRun: boolean;
  readonly now: number;
  /** If absent, reasons contain only the ids of jobs. */
  readonly lookUpJobs?: FindJobCommands;
}

export interface ReclaimRow {
  readonly id: string;
  readonly name: string;
  readonly profile: string;
  readonly task: string;
  readonly state: string;
  /** The action that was taken; in a dry run, the action that would be taken. */
  readonly action: "removed" | "stopped" | "kept" | "failed";
  readonly reason: string;
}

export interface ReclaimReport {
  readonly rows: readonly ReclaimRow[];
  /** Why the containers could not be listed. */
  readonly problem: string | undefined;
}

/**
 * Removes stopped and half-created sandboxes that are old enough, and those whose owner process has exited. Stops idle
 * sandboxes, which a later call removes. Deletes records of containers that no longer exist. Continues when one
 * container fails, and throws only when the signal is aborted. A process that ends normally releases its own sandbox
 * with `lifecycle/release-sandbox.ts`.
 */
export async function reclaimSandboxes(
  engine: Engine,
  rules: ReclaimRules,
  signal: AbortSignal,
): Promise<ReclaimReport> {
  const rows: ReclaimRow[] = [];
  try {
    // Load the records before listing the containers, so that a sandbox created in between does not count as lost.
    const statusOf = await loadRecordStatuses(rules.stores);
    const recorded = await listRecorded(engine, rules.stores);
    const ofProfile = rules.profileId === undefined ? "" : `=${rules.profileId}`;
    const filters = [`label=${LABEL.agent}=1`, `label=${LABEL.profileId}${ofProfile}`];
    const all = await listContainers(engine, filters, {}, signal);
    for (const container of all.filter(({ labels }) => isOurs(labels))) {
      const subject = {
        container,
        recordStatus: await statusOf(container, signal),
        successor: findSuccessor(container, all, rules.now),
      };
      const verdict = await judge(engine, subject, rules, signal);
      rows.push(await carryOut(engine, container, verdict, rules.dryRun, signal));
    }
    const removed = new Set(rows.flatMap(({ id, action }) => (action === "removed" ? id : [])));
    const remaining = new Set(all.flatMap(({ id }) => (removed.has(id) ? [] : [id])));
    for (const { id, store } of rules.dryRun ? [] : recorded) {
      const isStale = !remaining.has(id) && (await findContainer(engine, id, signal)) === undefined;
      if (isStale) await deleteSandboxRecord(store, id);
    }
    return { rows, problem: undefined };
  } catch (error) {
    signal.throwIfAborted();
    return { rows, problem: messageOf(error) };
  }
}

interface RecordedContainer {
  readonly id: string;
  readonly store: SandboxStore;
}

/** Lists the containers that the records assign to this engine. */
async function listRecorded(engine: Engine, stores: readonly SandboxStore[]): Promise<RecordedContainer[]> {
  const address = engineAddress(engine);
  const all = stores.map(async (store) => (await loadRecords(store)).map((record) => ({ ...record, store })));
  return (await Promise.all(all)).flat().filter((record) => record.engine === address);
}

/** A container, its status in the records, and the container that has replaced it. */
interface JudgedContainer {
  readonly container: Container;
  readonly recordStatus: RecordStatus;
  readonly successor: Container | undefined;
}

interface Verdict {
  readonly action: "remove" | "remove-running" | "stop" | "keep";
  readonly reason: string;
}

/** Finds the container that replaced this one long enough ago; without a successor, recovery restores this one. */
function findSuccessor({ name }: Container, all: readonly Container[], now: number): Container | undefined {
  const since = parseReplacedTime(name);
  if (since === undefined || now - since < ASIDE_MS) return undefined;
  return all.find((other) => isReplacedNameOf(name, other.name));
}

async function judge(
  engine: Engine,
  subject: JudgedContainer,
  rules: ReclaimRules,
  signal: AbortSignal,
): Promise<Verdict> {
  const { container, recordStatus, successor } = subject;
  switch (container.state) {
    case "running":
      if (recordStatus === "abandoned") return { action: "remove-running", reason: OWNER_EXITED };
      return judgeRunning(engine, subject, rules, signal);
    case "exited":
    case "created":
    case "dead":
    case "removing":
      if (successor !== undefined) return { action: "remove", reason: `${successor.name} has replaced it` };
      if (recordStatus === "abandoned") return { action: "remove", reason: OWNER_EXITED };
      return judgeStopped(container, recordStatus, rules);
    default:
      return keepVerdict(`it is ${container.state}`);
  }
}

function judgeStopped(
  container: Container,
  recordStatus: Exclude<RecordStatus, "abandoned">,
  rules: ReclaimRules,
): Verdict {
  const since = stoppedSince(container);
  const state = container.state === "exited" ? "stopped" : container.state;
  if (since === undefined) return keepVerdict(`it is ${state}, but the time when it stopped is unknown`);
  const rule = { named: STOPPED_TTL, unknown: STOPPED_TTL, orphan: "it belongs to no task" }[recordStatus];
  const until = keptUntil(container, recordStatus, rules);
  if (until === undefined)
    return keepVerdict(`${state} on ${formatMinute(since)}, kept forever (${rule} is 0)`);
  const span = `${state} on ${formatMinute(since)}, kept until ${formatMinute(until)} (${rule})`;
  return rules.now < until ? keepVerdict(span) : { action: "remove", reason: span };
}

async function judgeRunning(
  engine: Engine,
  { container, successor }: JudgedContainer,
  rules: ReclaimRules,
  signal: AbortSignal,
): Promise<Verdict> {
  const { now } = rules;
  const idleMs = rules.idleTtlSeconds * 1_000;
  const maxAgeMs = rules.maxAgeSeconds * 1_000;
  // The last use is never before the start, so a container that started recently needs no further checks.
  const uptimeMs = container.startedAt === undefined ? 0 : now - container.startedAt;
  const mayBeExpired = [idleMs, maxAgeMs].some((limitMs) => limitMs > 0 && uptimeMs >= limitMs);
  if (!mayBeExpired && successor === undefined) return keepVerdict("it was started recently");

  const processes = await listSandboxProcesses(engine, container.id, signal);
  if (processes === undefined) return keepVerdict("the engine does not list its processes");
  if (processes.some(({ role }) => role === "channel")) return keepVerdict("it is in use");
  if (successor !== undefined)
    return { action: "remove-running", reason: `${successor.name} has replaced it` };

  const lastUse = await findLastUse(engine, container, signal);
  if (lastUse === undefined) return keepVerdict("the time of its last use is unknown");
  const unusedMs = now - lastUse;
  const reason = `it has not been used for ${seconds(unusedMs)} s`;
  const isTooOld = maxAgeMs > 0 && unusedMs >= maxAgeMs;
  const isIdle = idleMs > 0 && unusedMs >= idleMs;
  if (!isTooOld && !isIdle) return keepVerdict(`it was last used ${seconds(unusedMs)} s ago`);
  const [job] = await (rules.lookUpJobs ?? findNoCommands)(jobsAmong(processes), signal);
  if (job !== undefined) return keepVerdict(`${reason}, but the job ${formatJob(job)} runs in it`);
  const stop = async (): Promise<Verdict> => {
    const lost = await listFilledMemoryFolders(engine, container, signal);
    const loss = lost.length === 0 ? "" : `; the files in ${lost.join(" and ")} are in memory and are lost`;
    return { action: "stop", reason: `${reason}${loss}` };
  };
  if (isTooOld) return stop();
  const other = processes.find(({ role }) => role === "other");
  if (other !== undefined) return keepVerdict(`${reason}, but ${shorten(other.arguments, 80)} runs in it`);
  return stop();
}

async function carryOut(
  engine: Engine,
  container: Container,
  { action, reason }: Verdict,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<ReclaimRow> {
  const { id, name, state, labels } = container;
  const row = { id, name, state, profile: labels[LABEL.profile] ?? "", task: labels[LABEL.task] ?? "" };
  if (action === "keep") return { ...row, action: "kept", reason };
  const done = action === "stop" ? "stopped" : "removed";
  if (dryRun) return { ...row, action: done, reason };
  const failure = await act(engine, id, action, signal);
  if (failure === undefined) return { ...row, action: done, reason };
  return { ...row, action: "failed", reason: `${reason}, but it cannot be ${done}: ${failure}` };
}

/** Returns why the action failed; undefined if it succeeded. */
async function act(
  engine: Engine,
  id: string,
  action: Exclude<Verdict["action"], "keep">,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (action === "remove") {
    // Without --force, so that the engine refuses if another process has started the container since the check.
    const result = await engine.run(["rm", "--volumes", id], REMOVE_TIMEOUT_MS, signal);
    return succeeded(result) ? undefined : formatFailure(result);
  }
  const end = await (action === "stop" ? stopSandbox : removeSandbox)(engine, id, signal);
  return end.outcome === "failed" ? end.reason : undefined;
}

function keepVerdict(reason: string): Verdict {
  return { action: "keep", reason };
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}
