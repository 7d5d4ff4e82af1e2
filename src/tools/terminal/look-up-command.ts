import { createHash } from "node:crypto";
import type { ToolParts } from "../workspace.ts";

const LOOK_WITHIN_MS = 30_000;
/** A command dies with the shell that it came by, but not in the same instant. */
const LOOKS = 4;

/** What the processes of a call carry, so that a later process of the session can find them. */
export function markOf(session: string, callId: string): string {
  return createHash("sha256").update(`${session}\0${callId}`).digest("hex").slice(0, 16);
}

/** Whether processes of a command are left whose own Hermes died; undefined where the process table cannot be read. */
export async function lookUpCommand(
  parts: Pick<ToolParts, "workspace" | "owner">,
  callId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { environment, session } = await parts.workspace(signal);
  const chunks: Uint8Array[] = [];
  const { ended, exitCode } = await environment.run(
    {
      command: lookScript(markOf(parts.owner, callId)),
      session,
      timeoutMs: LOOK_WITHIN_MS,
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
    ? "No process of it runs any more."
    : `It still runs, or a part of it does: process ${pids.join(", ")}.`;
}

function lookScript(mark: string): string {
  return `( [ -r /proc/self/environ ] || exit 1
for try in ${Array.from({ length: LOOKS }, (_, index) => index + 1).join(" ")}; do
  left=$(grep -ls 'HERMES_COMMAND_ID=${mark}' /proc/[0-9]*/environ)
  [ -n "$left" ] || break
  [ "$try" = ${LOOKS} ] || sleep 1
done
echo $left ) 2>/dev/null`;
}
