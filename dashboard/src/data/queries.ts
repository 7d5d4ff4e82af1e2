import { queryOptions } from "@tanstack/react-query";
import type { ProfilesAnswer } from "../../../src/api/contract/health.ts";
import type { Api } from "./api.ts";
import type { Me } from "./me.ts";

/** Who is signed in, and how one can sign in. */
export const meQuery = (api: Api) =>
  queryOptions({ queryKey: ["me"], queryFn: ({ signal }) => api.get<Me>("me", signal) });

export const profilesQuery = (api: Api) =>
  queryOptions({
    queryKey: ["profiles"],
    queryFn: ({ signal }) => api.get<ProfilesAnswer>("profiles", signal),
  });
