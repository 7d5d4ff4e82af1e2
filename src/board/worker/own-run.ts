import { readFileSync } from "node:fs";
import { findGroupMark } from "./run-cgroup.ts";
import { parseRunMark, RUN_MARK, type RunName } from "./run-mark.ts";

/**
 * The run that this process belongs to. What the supervisor has arranged with the kernel counts first, because a process
 * cannot take it back: its cgroup, then the environment that its ancestors were started with. Variables count last.
 */
export function findOwnRun(variable: (name: string) => string | undefined): RunName | undefined {
  const marked = parseRunMark(findGroupMark() ?? findInheritedMark());
  if (marked !== undefined) return marked;
  const taskId = variable("HERMES_KANBAN_TASK");
  if (!taskId) return undefined;
  return { taskId, runId: Number(/^\d{1,15}$/.exec(variable("HERMES_KANBAN_RUN_ID") ?? "")?.[0] ?? 0) };
}

const GENERATIONS = 64;

/** The mark that the oldest marked ancestor was started with: younger ones may have chosen theirs. */
function findInheritedMark(): string | undefined {
  let mark: string | undefined;
  try {
    for (let pid = process.ppid, n = 0; pid > 1 && n < GENERATIONS; n++) {
      const entries = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
      mark = entries.find((entry) => entry.startsWith(`${RUN_MARK}=`))?.slice(RUN_MARK.length + 1) ?? mark;
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      pid = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    }
  } catch {
    // No /proc, or a process of somebody else: no worker of ours is above that one.
  }
  return mark;
}
