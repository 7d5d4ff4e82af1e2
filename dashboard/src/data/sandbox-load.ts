import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { SandboxLoad } from "../../../src/api/contract/machines/sandboxes.ts";
import { useLive } from "./app-data.tsx";
import { useVisible } from "./use-visible.ts";

/** What a sandbox used at one time. */
export interface LoadPoint {
  readonly takenAt: number;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly processes: number;
}

/** The samples of each sandbox by its id, oldest first. */
type LoadHistory = Readonly<Record<string, readonly LoadPoint[]>>;

const KEPT_MS = 10 * 60_000;
const NOTHING: LoadHistory = {};

const loadQuery = (profile: string) =>
  queryOptions({
    queryKey: ["load", profile],
    queryFn: async (): Promise<LoadHistory> => NOTHING,
    enabled: false, // only events fill it
    initialData: NOTHING,
  });

/** Follows the load of a profile's running sandboxes while the page is visible. Keeps the samples of the last ten minutes. */
export function useSandboxLoad(profile: string, isWanted = true): LoadHistory {
  const live = useLive();
  const client = useQueryClient();
  const isVisible = useVisible();
  useEffect(() => {
    if (!isVisible || !isWanted) return;
    return live.follow(`load:${profile}`, null, ({ name, data }) => {
      if (name !== "sandbox-load") return;
      client.setQueryData<LoadHistory>(loadQuery(profile).queryKey, (old = NOTHING) =>
        addLoad(old, data as SandboxLoad),
      );
    });
  }, [live, client, profile, isVisible, isWanted]);
  return useQuery(loadQuery(profile)).data;
}

/** Adds the samples of one second, and drops those that are too old. */
export function addLoad(old: LoadHistory, { takenAt, samples }: SandboxLoad): LoadHistory {
  const next: Record<string, readonly LoadPoint[]> = {};
  for (const [id, points] of Object.entries(old)) {
    const kept = points.filter((point) => takenAt - point.takenAt < KEPT_MS && point.takenAt !== takenAt);
    if (kept.length > 0) next[id] = kept;
  }
  for (const { id, ...sample } of samples) next[id] = [...(next[id] ?? []), { takenAt, ...sample }];
  return next;
}

const FRESH_MS = 5_000;

/** The latest sample, unless it is too old to describe the present. */
export function latestLoad(points: readonly LoadPoint[] | undefined, now: number): LoadPoint | undefined {
  const last = points?.at(-1);
  return last !== undefined && now - last.takenAt < FRESH_MS ? last : undefined;
}
