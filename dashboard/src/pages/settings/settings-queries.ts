import { queryOptions } from "@tanstack/react-query";
import type { SettingsAnswer, SettingsYaml } from "../../../../src/api/contract/setup/settings.ts";
import type { Api } from "../../data/api.ts";

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
