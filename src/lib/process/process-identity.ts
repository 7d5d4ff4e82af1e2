import { type HostFacts, readHostFacts } from "./host-facts.ts";
import { readProcessState } from "./process-state.ts";

/** Identifies one process across machines and time; a pid alone is reused. */
export interface ProcessIdentity extends HostFacts {
  readonly pid: number;
  /** In units of the operating system; comparable only within one boot. */
  readonly startTime: string;
}

export type Liveness = "alive" | "dead" | "unknown";

export async function readOwnIdentity(signal: AbortSignal): Promise<ProcessIdentity> {
  const identity = await findIdentity(process.pid, signal);
  if (identity === undefined) throw new Error("this process is not in its own process table");
  return identity;
}

/** The identity of a process on this machine, or undefined when no process has that pid or it is hidden from us. */
export async function findIdentity(pid: number, signal: AbortSignal): Promise<ProcessIdentity | undefined> {
  signal.throwIfAborted();
  const [host, state] = await Promise.all([readHostFacts(signal), readProcessState(pid, signal)]);
  if (typeof state === "string") return undefined;
  return { ...host, pid, startTime: state.startTime };
}

/** Returns "dead" only with proof from this machine; processes of another machine or pid namespace are "unknown". */
export async function checkLiveness(identity: ProcessIdentity, signal: AbortSignal): Promise<Liveness> {
  signal.throwIfAborted();
  const here = await readHostFacts(signal);
  if (identity.hostId !== here.hostId) return "unknown";
  if (identity.bootId !== here.bootId) return "dead";
  if (identity.pidNamespace !== here.pidNamespace) return "unknown";
  const state = await readProcessState(identity.pid, signal);
  if (state === "hidden") return "unknown";
  return state !== "absent" && state.startTime === identity.startTime ? "alive" : "dead";
}

/** Serialises an identity for `parseIdentity`, with its keys always in the same order. */
export function serialiseIdentity(identity: ProcessIdentity): string {
  const { hostId, bootId, pidNamespace, pid, startTime } = identity;
  return JSON.stringify({ hostId, bootId, pidNamespace, pid, startTime });
}

const MAX_PID = 2 ** 31 - 1; // a larger number would be truncated to the pid of another process

/** Parses the text of `serialiseIdentity`; undefined for anything else, because the text may be untrusted. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const value = parseObject(text);
  if (value === undefined || Object.keys(value).length !== 5) return undefined;
  const { hostId, bootId, pidNamespace, pid, startTime } = value;
  if (!isShortText(hostId) || !isShortText(bootId) || !isShortText(pidNamespace) || !isShortText(startTime))
    return undefined;
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid < 1 || pid > MAX_PID) return undefined;
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

function isShortText(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= 200;
}
