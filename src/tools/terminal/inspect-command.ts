import { createHash } from "node:crypto";
import type { ToolParts } from "../tool-parts.ts";

const POLL_WITHIN_MS = 30_000;
/** A command exits shortly after its shell, so its processes are polled several times. */
const POLLS = 4;

/** The value of an environment variable that marks a call's processes, so that a later Hermes process can find them. */
export function createCommandMark(session: string, callId: string): string {
  return createHash("sha256").update(`${session}\0${callId}`).digest("hex").slice(0, 16);
}

/** Reports whether processes of a command survived its Hermes process; undefined if /proc cannot be read. */
export async function inspectCommand(
  parts: Pick<ToolParts, "openEnvironment" | "owner">,
  callId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { environment, session } = await parts.openEnvironment(signal);
  const chunks: Uint8Array[] = [];
  const { ended, exitCode } = await environment.run(
    {
      command: pollScript(createCommandMark(parts.owner, callId)),
      session,
      timeoutMs: POLL_WITHIN_MS,
      onOutput: (_, bytes) => void chunks.push(bytes),
    },
    signal,
  );
  if (ended !== "exited" || exitCode !== 0) return undefined;
  const pids = [
    ...Buffer.concat(chunks)
      .toString("utf8")
      .matchAll(/\/proc\/(\d+)\//g),
  ].map(([, pid]) => pid);
  return pids.length === 0
    ? "None of its processes is running."
    : `It is still running, at least in part: process ${pids.join(", ")}.`;
}

function pollScript(mark: string): string {
  return `( [ -r /proc/self/environ ] || exit 1
for try in ${Array.from({ length: POLLS }, (_, index) => index + 1).join(" ")}; do
  left=$(grep -ls 'HERMES_COMMAND_ID=${mark}' /proc/[0-9]*/environ)
  [ -n "$left" ] || break
  [ "$try" = ${POLLS} ] || sleep 1
done
echo $left ) 2>/dev/null`;
}
