import { createHash, randomBytes } from "node:crypto";
import { livenessOf, ownIdentity } from "../../../lib/process-identity.ts";

const PREFIX = ".hermes-copy-";
const NAME =
  /^\.hermes-copy-[0-9a-f]+-([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})-(\d{1,9})-((?:[0-9a-f]{2})+)$/;

/** A free name for what is on its way, which says whose it is: a process that is killed leaves it in a person's folder. */
export async function createTemporaryName(signal: AbortSignal): Promise<string> {
  const { hostId, bootId, pidNamespace, pid, startTime } = await ownIdentity(signal);
  const facts = [hostId, bootId, pidNamespace].map(digest);
  const start = Buffer.from(startTime).toString("hex");
  return `${PREFIX}${[randomBytes(8).toString("hex"), ...facts, pid, start].join("-")}`;
}

export function isTemporaryName(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** Whether the process that the name tells of is certainly over; one of another machine or container may live. */
export async function isOwnerDead(name: string, signal: AbortSignal): Promise<boolean> {
  const [, host = "", boot = "", namespace = "", pid = "", start = ""] = NAME.exec(name) ?? [];
  if (pid === "") return false;
  const here = await ownIdentity(signal);
  const known = (fact: string, mark: string) => (digest(fact) === mark ? fact : mark);
  const owner = {
    hostId: known(here.hostId, host),
    bootId: known(here.bootId, boot),
    pidNamespace: known(here.pidNamespace, namespace),
    pid: Number(pid),
    startTime: Buffer.from(start, "hex").toString(),
  };
  return (await livenessOf(owner, signal)) === "dead";
}

/** Short, because a file name has little room. */
function digest(fact: string): string {
  return createHash("sha256").update(fact).digest("hex").slice(0, 8);
}
