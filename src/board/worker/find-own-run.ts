import { readFileSync } from "node:fs";
import { findVariable, parseProcStat } from "../../lib/process/proc.ts";
import { findGroupMark } from "../supervisor/run-cgroup.ts";
import { parseRunMark, RUN_MARK, type RunName } from "./run-mark.ts";

/** The run of this process: by its cgroup, then by its ancestors' environment, which it cannot change, last by its variables. */
export function findOwnRun(variable: (name: string) => string | undefined): RunName | undefined {
  const marked = parseRunMark(findGroupMark() ?? findInheritedMark());
  if (marked !== undefined) return marked;
  const taskId = variable("HERMES_KANBAN_TASK");
  if (!taskId) return undefined;
  return { taskId, runId: Number(/^\d{1,15}$/.exec(variable("HERMES_KANBAN_RUN_ID") ?? "")?.[0] ?? 0) };
}

const GENERATIONS = 64;

/** The mark of the oldest marked ancestor, because younger ancestors may have set the variable themselves. */
function findInheritedMark(): string | undefined {
  let mark: string | undefined;
  try {
    for (let pid = process.ppid, n = 0; pid > 1 && n < GENERATIONS; n++) {
      mark = findVariable(readFileSync(`/proc/${pid}/environ`, "latin1"), RUN_MARK) ?? mark;
      pid = parseProcStat(readFileSync(`/proc/${pid}/stat`, "latin1"))?.parent ?? 0;
    }
  } catch {
    // /proc is missing, or the ancestor belongs to another user, and then no worker of this user is above it.
  }
  return mark;
}
