import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseTop } from "../../src/environments/docker/sandbox-processes.ts";

/** The variable by which the processes of one case are known, whoever started them. */
export const MARK = "LEFTOVERS_OF";

export interface HostProcess {
  readonly pid: number;
  readonly command: string;
}

/** The living processes of this machine that carry the mark. */
export async function markedProcesses(mark: string): Promise<HostProcess[]> {
  const found: HostProcess[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const read = (file: string) => readFile(join("/proc", pid, file), "latin1").catch(() => "");
    if (!(await read("environ")).split("\0").includes(`${MARK}=${mark}`)) continue;
    const command = (await read("cmdline")).replaceAll("\0", " ").trim();
    if (command !== "") found.push({ pid: Number(pid), command }); // one that has ended shows none
  }
  return found;
}

/** What a process table of `docker top` shows besides the keeper of a sandbox. */
export function inhabitants(table: string): string[] {
  return parseTop(table).flatMap(({ role, arguments: words }) => (role === "keeper" ? [] : [words]));
}

/** Sockets, and files that were on their way to their real name. */
export async function oddFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isSocket() || entry.isFIFO() || entry.name.endsWith(".tmp"))
    .map((entry) => join(entry.parentPath, entry.name));
}
