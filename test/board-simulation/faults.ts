import { CLOCK_MARGIN_MS } from "../../src/board/dispatcher/rules/run-lease.ts";
import { OPERATOR_VERBS } from "./operator-actions.ts";
import { pick, randomBetween } from "./seeded-random.ts";
import type { SimulatedHost } from "./simulated-host.ts";

/** All faults in histories; a fault is counted only when it took effect. */
export const FAULTS = [
  "dispatcher dies before its transaction",
  "dispatcher dies after its transaction",
  "supervisor dies before its transaction",
  "supervisor dies after its transaction",
  "supervisor dies between transactions",
  "supervisor is suspended",
  "worker dies alone",
  "second pass of one dispatcher",
  "clock of a host is moved",
  "database is unreachable",
  "two dispatchers at once",
  "five dispatchers at once",
] as const;
export type Fault = (typeof FAULTS)[number];

export const MOST_DISPATCHERS = 5;

/** The state from which the next action is chosen. */
export interface HistoryState {
  readonly waiting: readonly string[];
  readonly nextDue: number | undefined;
  readonly now: number;
  readonly healed: boolean;
  readonly isUnreachable: boolean;
  readonly hosts: readonly SimulatedHost[];
  readonly dispatchers: readonly string[];
  readonly tasks: number;
}

const FAULT_SHARE = 0.12;
const GO_SHARE = 0.85;
const RECOVERY_SHARE = 0.1; // while the database is unreachable, every transaction is refused

/** Usually the transaction of an actor; sometimes an advance of time or a fault. */
export function nextAction(state: HistoryState, random: () => number): string {
  const { waiting, nextDue, now, healed } = state;
  const actor = pickActor(waiting, random);
  const draw = random();
  if (state.isUnreachable && draw < RECOVERY_SHARE) return "database reachable";
  if (!healed && draw < FAULT_SHARE) return nextFault(state, actor, random);
  if (actor === undefined) return `advance ${Math.max(0, (nextDue ?? now + 1_000) - now)}`;
  return draw < GO_SHARE ? `go ${actor}` : `advance ${randomBetween(random, 0, healed ? 500 : 8_000)}`;
}

/** Prefers supervisors, which make fewer transactions than dispatchers: otherwise few would keep their leases for long. */
function pickActor(waiting: readonly string[], random: () => number): string | undefined {
  const supervisors = waiting.filter((actor) => actor.startsWith("s"));
  const candidates = supervisors.length > 0 && random() < 0.5 ? supervisors : waiting;
  return candidates.length === 0 ? undefined : pick(random, candidates);
}

function nextFault(state: HistoryState, actor: string | undefined, random: () => number): string {
  const host = pick(random, state.hosts);
  const supervised = [...host.runs.values()].filter(({ supervisor }) => supervisor);
  const withRun = (verb: string): string | undefined =>
    supervised.length === 0 ? undefined : `${verb} ${host.id} ${pick(random, supervised).runId}`;
  // Operators often act on tasks with a live worker, because such actions are the most likely to reveal a mistake.
  const working = state.hosts.flatMap(({ runs }) => [...runs.values()].filter(({ worker }) => worker));
  const withWorker = (verb: string): string | undefined =>
    working.length === 0 ? undefined : `${verb} ${pick(random, working).taskNumber}`;
  const faults: readonly (() => string | undefined)[] = [
    () => (actor === undefined ? undefined : `${pick(random, ["crash-before", "crash-after"])} ${actor}`),
    () => `start-dispatcher ${host.id}`,
    () => (state.dispatchers.length === 0 ? undefined : `duplicate ${pick(random, state.dispatchers)}`),
    () => `skew ${host.id} ${randomBetween(random, -CLOCK_MARGIN_MS / 2, CLOCK_MARGIN_MS / 2)}`,
    () => "database unreachable",
    () => withRun("kill"),
    () => withRun("kill-worker"),
    () => withRun("suspend"),
    () => `${pick(random, OPERATOR_VERBS)} ${randomBetween(random, 1, state.tasks)}`,
    () => withWorker(pick(random, OPERATOR_VERBS)),
    () => `advance ${randomBetween(random, 5_000, 40_000)}`,
  ];
  return pick(random, faults)() ?? "advance 1000";
}
