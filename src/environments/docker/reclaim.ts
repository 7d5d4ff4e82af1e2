import { messageOf } from "../../lib/errors.ts";
import { shorten } from "../../lib/shorten.ts";
import { type LookUpJobs, lookUpNothing, showJob } from "../jobs/seen-job.ts";
import { type Container, findContainer, listContainers } from "./container.ts";
import { complaintOf, type Engine, engineAddress, succeeded } from "./engine.ts";
import { isOurs, LABEL } from "./labels.ts";
import { findLastUse } from "./last-use.ts";
import { removeSandbox, stopSandbox } from "./remove-sandbox.ts";
import { asideSince, isAsideOf } from "./sandbox-names.ts";
import { jobsAmong, listSandboxProcesses } from "./sandbox-processes.ts";
import { forgetSandbox, loadRecords, type SandboxPlace } from "./sandbox-record.ts";
import {
  type KeepRules,
  keptUntil,
  loadStandings,
  type Standing,
  showMoment,
  stoppedSince,
} from "./stopped-sandbox.ts";

const REMOVE_TIMEOUT_MS = 30_000;
const STOPPED_TTL = "terminal.docker_stopped_ttl_seconds";
const LEFT = "the process that it was made for has ended";
/** Longer than any replacement takes: before that, the old container may be put back. */
const ASIDE_MS = 15 * 60 * 1_000;

export interface ReclaimRules extends KeepRules {
  /** Undefined looks at all profiles. */
  readonly profileId: string | undefined;
  /** The profiles whose records are known here. */
  readonly places: readonly SandboxPlace[];
  /** 0 means never. */
  readonly idleTtlSeconds: number;
  /** 0 means never. */
  readonly maxAgeSeconds: number;
  /** Only say what would be done. */
  readonly dryRun: boolean;
  readonly now: number;
  /** Without it, jobs are named by their ids alone. */
  readonly lookUpJobs?: LookUpJobs;
}

export interface ReclaimRow {
  readonly id: string;
  readonly name: string;
  readonly profile: string;
  readonly task: string;
  readonly state: string;
  /** In a dry run what would be done. */
  readonly action: "removed" | "stopped" | "kept" | "failed";
  readonly reason: string;
}

export interface ReclaimReport {
  readonly rows: readonly ReclaimRow[];
  /** Why the engine could not be asked at all. */
  readonly problem: string | undefined;
}

/**
 * Removes ended and half-made sandboxes that are old enough and those of dead processes, and stops running ones that
 * nobody has used for long; these are removed by a later call. Forgets records of containers that are gone. Goes on when one fails, and throws only when
 * it is told to stop.
 */
export async function reclaimSandboxes(
  engine: Engine,
  rules: ReclaimRules,
  signal: AbortSignal,
): Promise<ReclaimReport> {
  const rows: ReclaimRow[] = [];
  try {
    // Before the containers are listed: what is made meanwhile must not look like a record without its container.
    const standingOf = await loadStandings(rules.places);
    const recorded = await listRecorded(engine, rules.places);
    const all = await listLabelled(engine, rules.profileId, signal);
    for (const container of all.filter(({ labels }) => isOurs(labels))) {
      const verdict = await judge(
        engine,
        container,
        await standingOf(container, signal),
        replacedBy(container, all, rules.now),
        rules,
        signal,
      );
      rows.push(await carryOut(engine, container, verdict, rules.dryRun, signal));
    }
    const removed = new Set(rows.flatMap(({ id, action }) => (action === "removed" ? id : [])));
    const left = all.filter(({ id }) => !removed.has(id));
    if (!rules.dryRun) await forgetGone(engine, recorded, left, signal);
    return { rows, problem: undefined };
  } catch (error) {
    signal.throwIfAborted();
    return { rows, problem: messageOf(error) };
  }
}

interface Recorded {
  readonly id: string;
  readonly place: SandboxPlace;
}

/** What the records say that this engine has. */
async function listRecorded(engine: Engine, places: readonly SandboxPlace[]): Promise<Recorded[]> {
  const address = engineAddress(engine);
  const all = await Promise.all(
    places.map(async (place) => (await loadRecords(place)).map((record) => ({ ...record, place }))),
  );
  return all.flat().filter((record) => record.engine === address);
}

async function forgetGone(
  engine: Engine,
  recorded: readonly Recorded[],
  left: readonly Container[],
  signal: AbortSignal,
): Promise<void> {
  const ids = new Set(left.map(({ id }) => id));
  const missing = recorded.filter(({ id }) => !ids.has(id));
  for (const { id, place } of missing) {
    if ((await findContainer(engine, id, signal)) === undefined) await forgetSandbox(place, id);
  }
}

function listLabelled(
  engine: Engine,
  profileId: string | undefined,
  signal: AbortSignal,
): Promise<Container[]> {
  const filters = [
    `label=${LABEL.agent}=1`,
    `label=${LABEL.profileId}${profileId === undefined ? "" : `=${profileId}`}`,
  ];
  return listContainers(engine, filters, {}, signal);
}

interface Verdict {
  readonly action: "remove" | "remove-running" | "stop" | "keep";
  readonly reason: string;
}

/** The container for which this one was moved aside long enough ago; without it, it waits to be put back. */
function replacedBy({ name }: Container, all: readonly Container[], now: number): Container | undefined {
  const since = asideSince(name);
  if (since === undefined || now - since < ASIDE_MS) return undefined;
  return all.find((other) => isAsideOf(name, other.name));
}

async function judge(
  engine: Engine,
  container: Container,
  standing: Standing,
  successor: Container | undefined,
  rules: ReclaimRules,
  signal: AbortSignal,
): Promise<Verdict> {
  switch (container.state) {
    case "running":
      if (standing === "left") return { action: "remove-running", reason: LEFT };
      return judgeRunning(engine, container, successor, rules, signal);
    case "exited":
    case "created":
    case "dead":
    case "removing":
      if (successor !== undefined)
        return { action: "remove", reason: `${successor.name} has taken its place` };
      if (standing === "left") return { action: "remove", reason: LEFT };
      return judgeStopped(container, standing, rules);
    default:
      return keep(`it is ${container.state}`);
  }
}

function judgeStopped(
  container: Container,
  standing: Exclude<Standing, "left">,
  rules: ReclaimRules,
): Verdict {
  const since = stoppedSince(container);
  const what = container.state === "exited" ? "stopped" : container.state;
  if (since === undefined) return keep(`it is ${what}, but nobody knows since when`);
  const rule = { named: STOPPED_TTL, unknown: STOPPED_TTL, orphan: "no task has it" }[standing];
  const until = keptUntil(container, standing, rules);
  if (until === undefined) return keep(`${what} on ${showMoment(since)}, kept for ever (${rule} is 0)`);
  const span = `${what} on ${showMoment(since)}, kept until ${showMoment(until)} (${rule})`;
  return rules.now < until ? keep(span) : { action: "remove", reason: span };
}

async function judgeRunning(
  engine: Engine,
  container: Container,
  successor: Container | undefined,
  rules: ReclaimRules,
  signal: AbortSignal,
): Promise<Verdict> {
  const { now } = rules;
  const idleMs = rules.idleTtlSeconds * 1_000;
  const maxAgeMs = rules.maxAgeSeconds * 1_000;
  // Last use is never before the start, so one that started lately needs no closer look.
  const runsForMs = container.startedAt === undefined ? 0 : now - container.startedAt;
  const mayBeOver = [idleMs, maxAgeMs].some((limitMs) => limitMs > 0 && runsForMs >= limitMs);
  if (!mayBeOver && successor === undefined) return keep("it runs, and has not run for long");

  const processes = await listSandboxProcesses(engine, container.id, signal);
  if (processes === undefined) return keep("the engine does not say what runs in it");
  if (processes.some(({ role }) => role === "channel")) return keep("somebody uses it");
  if (successor !== undefined)
    return { action: "remove-running", reason: `${successor.name} has taken its place` };

  const lastUse = await findLastUse(engine, container, signal);
  if (lastUse === undefined) return keep("nobody knows when it was last used");
  const unusedMs = now - lastUse;
  const reason = `nobody has used it for ${seconds(unusedMs)} s`;
  const isTooOld = maxAgeMs > 0 && unusedMs >= maxAgeMs;
  const isIdle = idleMs > 0 && unusedMs >= idleMs;
  if (!isTooOld && !isIdle) return keep(`it was last used ${seconds(unusedMs)} s ago`);
  const [job] = await (rules.lookUpJobs ?? lookUpNothing)(jobsAmong(processes), signal);
  if (job !== undefined) return keep(`${reason}, but the job ${showJob(job)} runs in it`);
  if (isTooOld) return { action: "stop", reason };
  const other = processes.find(({ role }) => role === "other");
  if (other !== undefined) return keep(`${reason}, but ${shorten(other.arguments, 80)} runs in it`);
  return { action: "stop", reason };
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
  const failure = await FAILURE_OF[action](engine, id, signal);
  if (failure === undefined) return { ...row, action: done, reason };
  return { ...row, action: "failed", reason: `${reason}, but it cannot be ${done}: ${failure}` };
}

/** Does it, and gives the reason when it did not work. */
const FAILURE_OF = {
  async remove(engine: Engine, id: string, signal: AbortSignal) {
    // Without force: somebody may have started it since we looked, and then the engine refuses.
    const result = await engine.run(["rm", "--volumes", id], { timeoutMs: REMOVE_TIMEOUT_MS }, signal);
    return succeeded(result) ? undefined : complaintOf(result);
  },
  async "remove-running"(engine: Engine, id: string, signal: AbortSignal) {
    const removal = await removeSandbox(engine, id, signal);
    return removal.outcome === "failed" ? removal.reason : undefined;
  },
  async stop(engine: Engine, id: string, signal: AbortSignal) {
    const stop = await stopSandbox(engine, id, signal);
    return stop.outcome === "failed" ? stop.reason : undefined;
  },
};

function keep(reason: string): Verdict {
  return { action: "keep", reason };
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}
