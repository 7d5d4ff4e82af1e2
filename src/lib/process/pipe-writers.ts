import { readdir, readlink } from "node:fs/promises";
import { listPids, parseProcStat, readProc } from "./proc.ts";

/** A process that has the write end of a pipe open. */
export interface PipeWriter {
  readonly pid: number;
  readonly name: string;
  readonly isAncestor: boolean;
}

const ACCESS_MODE = 0o3;

/** Finds the processes that can still write to the pipe at one of our descriptors; empty where /proc does not show them. */
export async function findPipeWriters(descriptor: number): Promise<readonly PipeWriter[]> {
  const pipe = await readlink(`/proc/self/fd/${descriptor}`).catch(() => "");
  if (pipe === "") return [];
  const ancestors = await findAncestors();
  const pids = (await listPids()).filter((pid) => pid !== process.pid);
  const writers: PipeWriter[] = [];
  for (const pid of pids) {
    if (!(await canWrite(pid, pipe))) continue;
    const name = (await readProc(pid, "comm")).trim();
    writers.push({ pid, name, isAncestor: ancestors.has(pid) });
  }
  return writers;
}

async function canWrite(pid: number, pipe: string): Promise<boolean> {
  // The process may have exited meanwhile, or belong to another user.
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const descriptor of descriptors) {
    if ((await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "")) !== pipe) continue;
    const info = await readProc(pid, `fdinfo/${descriptor}`);
    const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? "0", 8);
    if ((flags & ACCESS_MODE) !== 0) return true;
  }
  return false;
}

async function findAncestors(): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (let pid = process.ppid; pid > 0 && !found.has(pid); ) {
    found.add(pid);
    pid = parseProcStat(await readProc(pid, "stat"))?.parent ?? 0;
  }
  return found;
}
