import type { Engine } from "./engine.ts";
import { inspectOverSocket } from "./engine-socket.ts";
import { parseJsonList } from "./parse-json.ts";

const INSPECT_TIMEOUT_MS = 15_000;

/** Inspects these images and omits missing ones; empty when the engine does not answer. */
export async function inspectImages(
  engine: Engine,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  if (names.length === 0) return [];
  const quick = await inspectOverSocket(engine.socket, "images", names, signal);
  if (quick !== undefined) return quick;
  const { stdout } = await engine.run(["image", "inspect", ...names], INSPECT_TIMEOUT_MS, signal);
  return parseJsonList(stdout);
}
