import { queryOptions } from "@tanstack/react-query";
import type { KeysAnswer, ModelsAnswer } from "../../../../src/api/contract/setup/models.ts";
import type { Api } from "../../data/api.ts";

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
