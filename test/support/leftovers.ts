import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseTop } from "../../src/environments/docker/isolation/sandbox-processes.ts";

/** The variable that identifies all processes of one case, including indirect children. */
export const MARK = "LEFTOVERS_OF";

export interface HostProcess {
  readonly pid: number;
  readonly command: string;
}

/** The running processes of this machine that have the mark. */
export async function markedProcesses(mark: string): Promise<HostProcess[]> {
  const found: HostProcess[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const read = (file: string) => readFile(join("/proc", pid, file), "latin1").catch(() => "");
    if (!(await read("environ")).split("\0").includes(`${MARK}=${mark}`)) continue;
    const command = (await read("cmdline")).replaceAll("\0", " ").trim();
    if (command !== "") found.push({ pid: Number(pid), command }); // a process that has exited has no command line
  }
  return found;
}

/** The processes in a table of `docker top`, without the keeper of the sandbox. */
export function processesBesidesKeeper(table: string): string[] {
  return parseTop(table).flatMap(({ role, arguments: words }) => (role === "keeper" ? [] : [words]));
}

/** Sockets, pipes and temporary files of unfinished writes. */
export async function leftoverFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isSocket() || entry.isFIFO() || entry.name.endsWith(".tmp"))
    .map((entry) => join(entry.parentPath, entry.name));
}
