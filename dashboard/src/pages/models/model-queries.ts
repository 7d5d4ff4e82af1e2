import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { KeysAnswer, ModelsAnswer } from "../../../../src/api/contract/setup/models.ts";
import type { SettingsChange } from "../../../../src/api/contract/setup/settings.ts";
import type { Api } from "../../data/api.ts";
import { useLive } from "../../data/app-data.tsx";

export const profilePath = (profile: string): string => `profiles/${encodeURIComponent(profile)}`;

export const modelsQuery = (api: Api, profile: string) =>
  queryOptions({
    queryKey: ["models", profile, "list"],
    queryFn: ({ signal }) => api.get<ModelsAnswer>(`${profilePath(profile)}/models`, signal),
  });

export const keysQuery = (api: Api, profile: string) =>
  queryOptions({
    queryKey: ["models", profile, "keys"],
    queryFn: ({ signal }) => api.get<KeysAnswer>(`${profilePath(profile)}/keys`, signal),
  });

/** Reads models and keys again when any process has changed the settings. */
export function useModelEvents(profile: string): void {
  const live = useLive();
  const client = useQueryClient();
  useEffect(
    () =>
      live.onEvent(({ name, data }) => {
        const isOurs = name === "settings-change" && (data as SettingsChange).profile === profile;
        if (isOurs || name === "reset") void client.invalidateQueries({ queryKey: ["models", profile] });
      }),
    [live, client, profile],
  );
}
