import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type {
  SettingsAnswer,
  SettingsChange,
  SettingsYaml,
} from "../../../../src/api/contract/setup/settings.ts";
import type { Api } from "../../data/api.ts";
import { useLive } from "../../data/app-data.tsx";

export const settingsPath = (profile: string): string => `profiles/${encodeURIComponent(profile)}/settings`;

export const settingsQuery = (api: Api, profile: string) =>
  queryOptions({
    queryKey: ["settings", profile, "form"],
    queryFn: ({ signal }) => api.get<SettingsAnswer>(settingsPath(profile), signal),
  });

export const yamlQuery = (api: Api, profile: string) =>
  queryOptions({
    queryKey: ["settings", profile, "yaml"],
    queryFn: ({ signal }) => api.get<SettingsYaml>(`${settingsPath(profile)}/yaml`, signal),
  });

/** Reads the settings again when any process has changed them. */
export function useSettingsEvents(profile: string): void {
  const live = useLive();
  const client = useQueryClient();
  useEffect(
    () =>
      live.onEvent(({ name, data }) => {
        const isOurs = name === "settings-change" && (data as SettingsChange).profile === profile;
        if (isOurs || name === "reset") void client.invalidateQueries({ queryKey: ["settings", profile] });
      }),
    [live, client, profile],
  );
}
