import { readFile } from "node:fs/promises";
import type { Engine } from "../engine/engine.ts";
import { findContainer } from "../lifecycle/container.ts";
import type { OwnMount } from "./mounts.ts";

/** Parses the id of the container that this process runs in from its mounts; undefined outside of a container. */
export function parseOwnContainer(mountInfo: string): string | undefined {
  for (const line of mountInfo.split("\n")) {
    const [, , , root = "", mountPoint] = line.split(" ");
    const id = mountPoint === "/etc/hostname" ? /\/([0-9a-f]{64})\//.exec(root)?.[1] : undefined;
    if (id !== undefined) return id;
  }
  return undefined;
}

/**
 * Finds the mounts of the container that Hermes runs in. Undefined when Hermes does not run in a container of this
 * engine; then the engine uses the same paths as our process.
 */
export async function findOwnMounts(
  engine: Engine,
  signal: AbortSignal,
  mountInfoFile = "/proc/self/mountinfo",
): Promise<readonly OwnMount[] | undefined> {
  // Systems without this file do not run containers natively.
  const mountInfo = await readFile(mountInfoFile, "utf8").catch(() => "");
  const id = parseOwnContainer(mountInfo);
  const own = id === undefined ? undefined : await findContainer(engine, id, signal);
  return own?.mounts.flatMap(({ Source: source, Destination: destination }) =>
    source === undefined || source === "" ? [] : [{ source, destination }],
  );
}
