import { readFile } from "node:fs/promises";
import { findContainer } from "./container.ts";
import type { Engine } from "./engine.ts";
import type { OwnMount } from "./mounts.ts";

/** The id of the container that this process runs in, as its engine's own mounts show, or undefined outside of one. */
export function parseOwnContainer(mountInfo: string): string | undefined {
  for (const line of mountInfo.split("\n")) {
    const [, , , root = "", mountPoint] = line.split(" ");
    const id = mountPoint === "/etc/hostname" ? /\/([0-9a-f]{64})\//.exec(root)?.[1] : undefined;
    if (id !== undefined) return id;
  }
  return undefined;
}

/**
 * What the engine mounted into the container that we run in, or undefined when we run in none of its containers: then
 * its paths are ours.
 */
export async function findOwnMounts(
  engine: Engine,
  signal: AbortSignal,
  mountInfoFile = "/proc/self/mountinfo",
): Promise<readonly OwnMount[] | undefined> {
  // Systems without the file run no containers of their own.
  const mountInfo = await readFile(mountInfoFile, "utf8").catch(() => "");
  const id = parseOwnContainer(mountInfo);
  const own = id === undefined ? undefined : await findContainer(engine, id, signal);
  return own?.mounts.flatMap(({ Source: source, Destination: destination }) =>
    source === undefined || source === "" ? [] : [{ source, destination }],
  );
}
