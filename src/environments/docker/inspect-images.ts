import type { Engine } from "./engine.ts";
import { inspectQuickly } from "./engine-socket.ts";
import { parseJsonList } from "./parse-json.ts";

const INSPECT_TIMEOUT_MS = 15_000;

/** How the engine describes those of these images that it has; nothing when it cannot tell. */
export async function inspectImages(
  engine: Engine,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  if (names.length === 0) return [];
  const quick = await inspectQuickly(engine.socket, "images", names, signal);
  if (quick !== undefined) return quick;
  const { stdout } = await engine.run(
    ["image", "inspect", ...names],
    { timeoutMs: INSPECT_TIMEOUT_MS },
    signal,
  );
  return parseJsonList(stdout);
}
