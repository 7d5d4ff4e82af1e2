import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf } from "../../lib/errors.ts";

/**
 * A group of the kernel for the processes of one run, where we may make one. Nothing that is started in it can leave it,
 * whatever its environment, session or parent, so that nothing of the run can outlive it.
 */
const NAME = "hermes-";

/** The group that we are in ourselves, as the kernel calls it; undefined where there is no cgroup2. */
function findOwnName(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1];
  } catch {
    return undefined; // no /proc, or another's
  }
}

/** The folder of the group that we are in ourselves. */
function findOwnGroup(): string | undefined {
  const own = findOwnName();
  if (own === undefined) return undefined;
  try {
    const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    // Its fields: number, parent, device, root, place, options, …, "-", type.
    const place = mounts.find((line) => line.split(" - ")[1]?.startsWith("cgroup2 "))?.split(" ")[4];
    return place === undefined ? undefined : join(place, own);
  } catch {
    return undefined; // no /proc, or another's
  }
}

/** Where groups of runs are made: in our own, or beside it when we are a worker's process and in one ourselves. */
function findBase(): string | undefined {
  const own = findOwnGroup();
  return own !== undefined && isOfRun(own) ? dirname(own) : own;
}

function isOfRun(group: string): boolean {
  return basename(group).startsWith(NAME);
}

/** The mark of the run whose group we are in, or in a group inside of it. */
export function findGroupMark(): string | undefined {
  const name = findOwnName()
    ?.split("/")
    .find((part) => part.startsWith(NAME));
  return name?.slice(NAME.length);
}

/** A supervisor that was started by the worker of another run must not end with that one. */
export async function leaveRunGroup(): Promise<void> {
  const own = findOwnGroup();
  if (own !== undefined && isOfRun(own))
    await writeFile(join(dirname(own), "cgroup.procs"), String(process.pid));
}

/** Makes the group of a run; undefined where that is not allowed, or the kernel cannot end a whole group. */
export async function makeRunGroup(mark: string): Promise<string | undefined> {
  const base = findBase();
  if (base === undefined) return undefined;
  const path = join(base, NAME + mark);
  try {
    await mkdir(path, { recursive: true });
    await readFile(join(path, "cgroup.procs"));
    const files = await readdir(path);
    if (files.includes("cgroup.kill")) return path;
    await rmdir(path);
  } catch {
    // Most users may not; their processes are found by their marks.
  }
  return undefined;
}

/** The groups of all runs whose marks begin so. */
export async function findRunGroups(mark: string): Promise<readonly string[]> {
  const base = findBase();
  if (base === undefined) return [];
  const names = await readdir(base).catch(() => []);
  return names.filter((name) => name.startsWith(NAME + mark)).map((name) => join(base, name));
}

export async function pidsIn(group: string): Promise<readonly number[]> {
  const text = await readFile(join(group, "cgroup.procs"), "latin1").catch(() => "");
  return text.split("\n").filter(Boolean).map(Number);
}

/** Kills all that is in a group at one instant, those included that are being started. */
export async function killGroup(group: string): Promise<void> {
  await writeFile(join(group, "cgroup.kill"), "1").catch(ignoreMissing);
}

/** Nobody is in it any more. */
export async function removeGroup(group: string): Promise<void> {
  await rmdir(group).catch(ignoreMissing);
}

/** A supervisor starts its worker within moments, so that a group which is empty for longer has lost them both. */
const EMPTY_MS = 60_000;

/** Removes the groups of runs whose marks begin so and that a killed supervisor has left behind. */
export async function removeLeftGroups(mark: string, now: number): Promise<void> {
  for (const group of await findRunGroups(mark)) {
    const facts = await stat(group).catch(() => undefined);
    if (facts === undefined || now - facts.ctimeMs < EMPTY_MS) continue;
    if ((await pidsIn(group)).length === 0) await removeGroup(group); // refused while somebody is in it
  }
}

function ignoreMissing(error: unknown): void {
  if (!["ENOENT", "ENODEV", "EBUSY"].includes(errnoOf(error) ?? "")) throw error;
}

/** How to start a program inside of a group: the shell joins it and becomes the program. */
export function insideGroup(
  group: string | undefined,
  argv: readonly [string, ...string[]],
): readonly [string, ...string[]] {
  if (group === undefined) return argv;
  return ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', join(group, "cgroup.procs"), ...argv];
}
