import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf } from "../../lib/errors.ts";

/**
 * The name prefix of the cgroup for the processes of one run, where we may create one. A process cannot leave it by
 * changing its environment, session or parent, so that no process of the run can outlive the run.
 */
const NAME = "hermes-";

/** The name of our own cgroup; undefined without cgroup2. */
function findOwnName(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1];
  } catch {
    return undefined; // /proc is missing or not readable
  }
}

/** The folder of our own cgroup. */
function findOwnGroup(): string | undefined {
  const own = findOwnName();
  if (own === undefined) return undefined;
  try {
    const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    // The fields of a line: id, parent, device, root, mount point, options, …, "-", type.
    const mountPoint = mounts.find((line) => line.split(" - ")[1]?.startsWith("cgroup2 "))?.split(" ")[4];
    return mountPoint === undefined ? undefined : join(mountPoint, own);
  } catch {
    return undefined; // /proc is missing or not readable
  }
}

/** The parent of the cgroups of runs: our own cgroup, or its parent when we run inside a worker's cgroup. */
function findBase(): string | undefined {
  const own = findOwnGroup();
  return own !== undefined && isOfRun(own) ? dirname(own) : own;
}

function isOfRun(group: string): boolean {
  return basename(group).startsWith(NAME);
}

/** The mark of the run whose cgroup, or a cgroup nested in it, contains this process. */
export function findGroupMark(): string | undefined {
  const name = findOwnName()
    ?.split("/")
    .find((part) => part.startsWith(NAME));
  return name?.slice(NAME.length);
}

/** Moves this process out of a run's cgroup: a supervisor that another run's worker started must survive that run. */
export async function leaveRunGroup(): Promise<void> {
  const own = findOwnGroup();
  if (own !== undefined && isOfRun(own))
    await writeFile(join(dirname(own), "cgroup.procs"), String(process.pid));
}

/** Creates the cgroup of a run; undefined where that is not permitted or the kernel has no `cgroup.kill`. */
export async function createRunGroup(mark: string): Promise<string | undefined> {
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
    // Most users lack the permission; their processes are found by their marks.
  }
  return undefined;
}

/** The cgroups of all runs whose marks have this prefix. */
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

/** Kills all processes of a cgroup atomically, including those that are being started. */
export async function killGroup(group: string): Promise<void> {
  await writeFile(join(group, "cgroup.kill"), "1").catch(ignoreMissing);
}

/** Removes an empty cgroup. */
export async function removeGroup(group: string): Promise<void> {
  await rmdir(group).catch(ignoreMissing);
}

/** A supervisor starts its worker at once, so a cgroup that is empty for longer has lost both. */
const EMPTY_MS = 60_000;

/** Removes leftover cgroups of killed supervisors, for runs whose marks have this prefix. */
export async function removeLeftoverGroups(mark: string, now: number): Promise<void> {
  for (const group of await findRunGroups(mark)) {
    const facts = await stat(group).catch(() => undefined);
    if (facts === undefined || now - facts.ctimeMs < EMPTY_MS) continue;
    if ((await pidsIn(group)).length === 0) await removeGroup(group); // the kernel refuses if a process has joined
  }
}

function ignoreMissing(error: unknown): void {
  if (!["ENOENT", "ENODEV", "EBUSY"].includes(errnoOf(error) ?? "")) throw error;
}

/** The command line that starts a program inside a cgroup: a shell joins the cgroup and then executes the program. */
export function insideGroup(
  group: string | undefined,
  argv: readonly [string, ...string[]],
): readonly [string, ...string[]] {
  if (group === undefined) return argv;
  return ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', join(group, "cgroup.procs"), ...argv];
}
