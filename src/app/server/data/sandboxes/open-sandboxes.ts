import type { SandboxData } from "../../../../api/dashboard/data/sandbox-data.ts";
import { listSnapshots } from "../../../../environments/docker/snapshots/list-snapshots.ts";
import { AppError } from "../../../../lib/errors.ts";
import { systemClock } from "../../../../lib/time/clock.ts";
import type { LoadProfile } from "../load-profile.ts";
import { createSandboxLister } from "./list-sandboxes.ts";
import { measureSandboxes } from "./measure-sandboxes.ts";
import { openProfileDocker } from "./profile-docker.ts";
import { createSandboxActions } from "./sandbox-actions.ts";
import { showSandbox } from "./show-sandbox.ts";
import { watchSandboxes } from "./watch-sandboxes.ts";

/** How long a change may take; a large snapshot takes minutes. */
const CHANGE_WITHIN_MS = 15 * 60_000;

export interface OpenSandboxes extends AsyncDisposable {
  readonly data: SandboxData;
}

/** The sandboxes of all profiles of a home. Disposing ends the changes that are in progress. */
export function openSandboxes(load: LoadProfile): OpenSandboxes {
  const end = new AbortController();
  const running = new Set<Promise<unknown>>();
  const lister = createSandboxLister(load);
  /** A change does not end with the request of the page. */
  const change = async <Result>(
    profile: string,
    act: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> => {
    const acting = act(AbortSignal.any([end.signal, AbortSignal.timeout(CHANGE_WITHIN_MS)]));
    running.add(acting);
    try {
      return await acting;
    } finally {
      running.delete(acting);
      lister.forget(profile);
    }
  };
  const data: SandboxData = {
    list: lister.list,
    show: (place, signal) => showSandbox(load, place, signal),
    async snapshots(profile, signal) {
      const { engine, spec } = await openProfileDocker(await load(profile), { recover: false }, signal);
      return (await listSnapshots(engine, spec, signal)).map((row) => ({
        ...{ id: row.id, name: row.name || null, task: row.task, sizeBytes: row.size_bytes },
        createdAt: Date.parse(row.created_at),
        isWhole: row.state === "whole",
        usedBy: [...row.used_by],
      }));
    },
    ...createSandboxActions(load, change),
    watch: (profile, signal) => watchSandboxes(load, profile, signal),
    measure: (profile, on, signal) => measureSandboxes({ load, list: lister.list, profile, on }, signal),
  };
  return {
    data,
    async [Symbol.asyncDispose]() {
      end.abort(new AppError("dashboard-stopped", "The dashboard was stopped."));
      await Promise.race([Promise.allSettled(running), systemClock.sleep(5_000, AbortSignal.timeout(6_000))]);
    },
  };
}
