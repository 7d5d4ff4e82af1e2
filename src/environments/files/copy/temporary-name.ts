import { createHash, randomBytes } from "node:crypto";
import { checkLiveness, readOwnIdentity } from "../../../lib/process/process-identity.ts";

const PREFIX = ".hermes-copy-";
const NAME =
  /^\.hermes-copy-[0-9a-f]+-([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})-(\d{1,9})-((?:[0-9a-f]{2})+)$/;

/** A unique temporary name that identifies this process, so that leftovers of killed processes can be removed. */
export async function createTemporaryName(signal: AbortSignal): Promise<string> {
  const { hostId, bootId, pidNamespace, pid, startTime } = await readOwnIdentity(signal);
  const facts = [hostId, bootId, pidNamespace].map(digest);
  const start = Buffer.from(startTime).toString("hex");
  return `${PREFIX}${[randomBytes(8).toString("hex"), ...facts, pid, start].join("-")}`;
}

export function isTemporaryName(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** Whether the process in the name has certainly exited. On another machine or in another container it may still run. */
export async function hasOwnerExited(name: string, signal: AbortSignal): Promise<boolean> {
  const [, host = "", boot = "", namespace = "", pid = "", start = ""] = NAME.exec(name) ?? [];
  if (pid === "") return false;
  const self = await readOwnIdentity(signal);
  const resolveDigest = (fact: string, hash: string) => (digest(fact) === hash ? fact : hash);
  const owner = {
    hostId: resolveDigest(self.hostId, host),
    bootId: resolveDigest(self.bootId, boot),
    pidNamespace: resolveDigest(self.pidNamespace, namespace),
    pid: Number(pid),
    startTime: Buffer.from(start, "hex").toString(),
  };
  return (await checkLiveness(owner, signal)) === "dead";
}

/** Short, because the length of a file name is limited. */
function digest(fact: string): string {
  return createHash("sha256").update(fact).digest("hex").slice(0, 8);
}
