import type { Container } from "./container.ts";
import { type Engine, succeeded } from "./engine.ts";

/** The file in a sandbox whose time is that of its last use; the channel touches it. */
export const LAST_USE_FILE = "/tmp/.hermes-last-use";

const EXEC_TIMEOUT_MS = 10_000;
const READ_STAMP = `if [ -e ${LAST_USE_FILE} ]; then stat -c %Y ${LAST_USE_FILE}; else echo none; fi`;

/**
 * When a running sandbox was last used, in milliseconds since 1970: the stamp that the channel left in it, or else its
 * start. Undefined when that cannot be told.
 */
export async function findLastUse(
  engine: Engine,
  { id, startedAt }: Container,
  signal: AbortSignal,
): Promise<number | undefined> {
  const result = await engine.run(
    ["exec", "--user", "0", id, "sh", "-c", READ_STAMP],
    { timeoutMs: EXEC_TIMEOUT_MS },
    signal,
  );
  const said = succeeded(result) ? result.stdout.trim() : "";
  if (said === "none") return startedAt;
  if (!/^\d+$/.test(said)) return undefined;
  return Math.max(Number(said) * 1_000, startedAt ?? 0); // a stamp from before a restart says less
}
