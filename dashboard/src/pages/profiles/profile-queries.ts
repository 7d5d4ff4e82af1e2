import { type QueryClient, queryOptions, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Profile, ProfileRemoval } from "../../../../src/api/contract/setup/profiles.ts";
import type { Api } from "../../data/api.ts";
import { useApi, useLive } from "../../data/app-data.tsx";
import { profilesQuery } from "../../data/queries.ts";

export const profilePath = (name: string): string => `profiles/${encodeURIComponent(name)}`;

export const profileQuery = (api: Api, name: string) =>
  queryOptions({
    queryKey: ["profile", name],
    queryFn: ({ signal }) => api.get<Profile>(profilePath(name), signal),
  });

export const removalQuery = (api: Api, name: string) =>
  queryOptions({
    queryKey: ["profile removal", name],
    queryFn: ({ signal }) => api.get<ProfileRemoval>(`${profilePath(name)}/removal`, signal),
    staleTime: 0,
    gcTime: 0,
  });

/** Reads the profiles again, for instance after one was created. */
export const refreshProfiles = (client: QueryClient, api: Api): Promise<unknown> =>
  Promise.all([
    client.invalidateQueries({ queryKey: profilesQuery(api).queryKey }),
    client.invalidateQueries({ queryKey: ["profile"] }),
  ]);

/** Keeps the rows current; the switcher of the frame keeps the list of names. */
export function useProfileEvents(): void {
  const api = useApi();
  const live = useLive();
  const client = useQueryClient();
  useEffect(
    () =>
      live.onEvent(({ name }) => {
        if (name === "reset") void refreshProfiles(client, api);
        if (name === "profile-change" || name === "settings-change" || name === "platform-change")
          void client.invalidateQueries({ queryKey: ["profile"] });
      }),
    [api, live, client],
  );
}
