import { makeRunGroup, removeGroup } from "../../board/worker/run-cgroup.ts";
import type { Finding } from "./check.ts";

/** By what the processes of a task's run are held together, so that none outlives it. */
export async function checkRuns(): Promise<Finding[]> {
  const group = await makeRunGroup(`check-${process.pid}`);
  if (group === undefined)
    return [
      {
        name: "workers",
        status: "note",
        detail:
          "found by marks and parents; one that forks away with an empty environment can outlive its run (no cgroup2 that we may use)",
        fix: "Start the daemon where it has one, for example with `systemd-run --user --scope -p Delegate=yes hermes kanban daemon`.",
      },
    ];
  await removeGroup(group);
  return [{ name: "workers", status: "ok", detail: "a cgroup for each run; nothing outlives it", fix: "" }];
}
