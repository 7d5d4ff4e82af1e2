import { type HostFacts, readHostFacts } from "./host-facts.ts";
import { readProcessState } from "./process-state.ts";

/** Which process this is among all that ever ran anywhere; a pid alone is given out again. */
export interface ProcessIdentity extends HostFacts {
  readonly pid: number;
  /** In the units of its operating system: comparable only within one boot. */
  readonly startTime: string;
}

export type Liveness = "alive" | "dead" | "unknown";

/** The identity of the process that asks. */
export async function ownIdentity(signal: AbortSignal): Promise<ProcessIdentity> {
  const identity = await identityOf(process.pid, signal);
  if (identity === undefined) throw new Error("this process is not in its own process table");
  return identity;
}

/** The identity of a process of this machine, or undefined when none runs under that pid or it is hidden from us. */
export async function identityOf(pid: number, signal: AbortSignal): Promise<ProcessIdentity | undefined> {
  signal.throwIfAborted();
  const [host, state] = await Promise.all([readHostFacts(signal), readProcessState(pid, signal)]);
  if (typeof state === "string") return undefined;
  return { ...host, pid, startTime: state.startTime };
}

/** Says "dead" only with proof from this machine; what another one or another pid namespace runs is unknown. */
export async function livenessOf(identity: ProcessIdentity, signal: AbortSignal): Promise<Liveness> {
  signal.throwIfAborted();
  const here = await readHostFacts(signal);
  if (identity.hostId !== here.hostId) return "unknown";
  if (identity.bootId !== here.bootId) return "dead";
  if (identity.pidNamespace !== here.pidNamespace) return "unknown";
  const state = await readProcessState(identity.pid, signal);
  if (state === "hidden") return "unknown";
  return state !== "absent" && state.startTime === identity.startTime ? "alive" : "dead";
}

/** The identity as text that `parseIdentity` reads, with its keys always in the same order. */
export function serialiseIdentity(identity: ProcessIdentity): string {
  const { hostId, bootId, pidNamespace, pid, startTime } = identity;
  return JSON.stringify({ hostId, bootId, pidNamespace, pid, startTime });
}

const LARGEST_PID = 2 ** 31 - 1; // a larger number would be cut to another process's pid

/** The identity in a text of `serialiseIdentity`, or undefined for anything else: such text may come from strangers. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const value = parseObject(text);
  if (value === undefined || Object.keys(value).length !== 5) return undefined;
  const { hostId, bootId, pidNamespace, pid, startTime } = value;
  if (!isWord(hostId) || !isWord(bootId) || !isWord(pidNamespace) || !isWord(startTime)) return undefined;
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid < 1 || pid > LARGEST_PID) return undefined;
  return { hostId, bootId, pidNamespace, pid, startTime };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= 200;
}
