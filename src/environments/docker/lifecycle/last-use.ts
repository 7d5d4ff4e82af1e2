import { type Engine, succeeded } from "../engine/engine.ts";
import type { Container } from "./container.ts";

/** The file in a sandbox whose modification time is the time of last use; the channel touches it. */
export const LAST_USE_FILE = "/tmp/.hermes-last-use";

const EXEC_TIMEOUT_MS = 10_000;
const READ_STAMP = `if [ -e ${LAST_USE_FILE} ]; then stat -c %Y ${LAST_USE_FILE}; else echo none; fi`;

/**
 * Finds when a running sandbox was last used, in milliseconds since 1970: the time stamp of the channel, or the
 * container's start time if there is no stamp. Undefined when the stamp cannot be read.
 */
export async function findLastUse(
  engine: Engine,
  { id, startedAt }: Container,
  signal: AbortSignal,
): Promise<number | undefined> {
  const result = await engine.run(
    ["exec", "--user", "0", id, "sh", "-c", READ_STAMP],
    EXEC_TIMEOUT_MS,
    signal,
  );
  const stamp = succeeded(result) ? result.stdout.trim() : "";
  if (stamp === "none") return startedAt;
  if (!/^\d+$/.test(stamp)) return undefined;
  return Math.max(Number(stamp) * 1_000, startedAt ?? 0); // the start is newer than a stamp from before a restart
}
