import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type {
  SandboxChange,
  SandboxListAnswer,
  ShownSandboxAnswer,
  SnapshotsAnswer,
} from "../../../../src/api/contract/machines/sandboxes.ts";
import type { Api } from "../../data/api.ts";
import { useApi, useLive } from "../../data/app-data.tsx";
import { meQuery } from "../../data/queries.ts";
import { useVisible } from "../../data/use-visible.ts";
import { words } from "../../words/words.ts";

const profilePath = (profile: string): string => `profiles/${encodeURIComponent(profile)}`;

/** The path of one sandbox below `api/`. */
export const sandboxPath = (profile: string, name: string): string =>
  `${profilePath(profile)}/sandboxes/${encodeURIComponent(name)}`;

export const snapshotPath = (profile: string, id: string): string =>
  `${profilePath(profile)}/snapshots/${encodeURIComponent(id)}`;

export const gcPath = (profile: string): string => `${profilePath(profile)}/sandbox-gc`;

export const sandboxesQuery = (api: Api, profile: string) =>
  queryOptions({
    queryKey: ["sandboxes", profile],
    queryFn: ({ signal }) =>
      api.get<SandboxListAnswer>(`sandboxes?profile=${encodeURIComponent(profile)}`, signal),
  });

export const sandboxQuery = (api: Api, profile: string, name: string) =>
  queryOptions({
    queryKey: ["sandbox", profile, name],
    queryFn: ({ signal }) => api.get<ShownSandboxAnswer>(sandboxPath(profile, name), signal),
  });

export const snapshotsQuery = (api: Api, profile: string) =>
  queryOptions({
    queryKey: ["snapshots", profile],
    queryFn: ({ signal }) => api.get<SnapshotsAnswer>(`${profilePath(profile)}/snapshots`, signal),
  });

/** Keeps the list and the open sandbox current while the page is visible. */
export function useSandboxChanges(profile: string): void {
  const api = useApi();
  const live = useLive();
  const client = useQueryClient();
  const isVisible = useVisible();
  useEffect(() => {
    if (!isVisible) return;
    const { queryKey } = sandboxesQuery(api, profile);
    const topic = `sandboxes:${profile}`;
    const at = client.getQueryData(queryKey)?.at ?? null;
    const stop = live.follow(topic, at, ({ name, data, id }) => {
      if (name !== "sandbox-change") return;
      client.setQueryData(queryKey, { ...(data as SandboxChange), at: id });
      void client.invalidateQueries({ queryKey: ["sandbox", profile] });
    });
    const onReset = live.onEvent(({ name, data }) => {
      const { topics } = (data ?? {}) as { topics?: readonly string[] | null };
      if (name !== "reset" || (topics && !topics.includes(topic))) return;
      void client.invalidateQueries({ queryKey });
      void client.invalidateQueries({ queryKey: ["sandbox", profile] });
    });
    return () => {
      stop();
      onReset();
    };
  }, [api, live, client, profile, isVisible]);
}

/** Why this sign-in may not change sandboxes; undefined if it may. */
export function useShellRefusal(): string | undefined {
  const me = useQuery(meQuery(useApi())).data;
  return me?.signedIn && !me.scopes.includes("shell") ? words.problems.notAllowed("shell") : undefined;
}
