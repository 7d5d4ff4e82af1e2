import { readdir, readFile, readlink } from "node:fs/promises";

/** A process that holds the writing end of a pipe. */
export interface PipeWriter {
  readonly pid: number;
  readonly name: string;
  /** Whether it started us, directly or through others. */
  readonly isAncestor: boolean;
}

const ACCESS_MODE = 0o3;

/** The processes that can still write to the pipe at a descriptor of ours; empty where they cannot be seen. */
export async function findPipeWriters(descriptor: number): Promise<readonly PipeWriter[]> {
  const pipe = await readlink(`/proc/self/fd/${descriptor}`).catch(() => "");
  if (pipe === "") return [];
  const ancestors = await findAncestors();
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0 && pid !== process.pid);
  const writers: PipeWriter[] = [];
  for (const pid of pids) {
    if (!(await canWrite(pid, pipe))) continue;
    const name = (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")).trim();
    writers.push({ pid, name, isAncestor: ancestors.has(pid) });
  }
  return writers;
}

async function canWrite(pid: number, pipe: string): Promise<boolean> {
  // Processes end while we look, and those of others are hidden.
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const descriptor of descriptors) {
    if ((await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "")) !== pipe) continue;
    const info = await readFile(`/proc/${pid}/fdinfo/${descriptor}`, "utf8").catch(() => "");
    const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? "0", 8);
    if ((flags & ACCESS_MODE) !== 0) return true;
  }
  return false;
}

async function findAncestors(): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (let pid = process.ppid; pid > 0 && !found.has(pid); ) {
    found.add(pid);
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    pid = Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0);
  }
  return found;
}
