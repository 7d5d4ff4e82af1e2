import { queryOptions } from "@tanstack/react-query";
import type { Me } from "../../../src/api/contract/access.ts";
import type { BoardsAnswer } from "../../../src/api/contract/boards.ts";
import type { ProfilesAnswer } from "../../../src/api/contract/health.ts";
import type { OverviewAnswer } from "../../../src/api/contract/overview.ts";
import type { Api } from "./api.ts";

/** Who is signed in, and the ways to sign in. */
export const meQuery = (api: Api) =>
  queryOptions({ queryKey: ["me"], queryFn: ({ signal }) => api.get<Me>("me", signal) });

export const profilesQuery = (api: Api) =>
  queryOptions({
    queryKey: ["profiles"],
    queryFn: ({ signal }) => api.get<ProfilesAnswer>("profiles", signal),
  });

export const boardsQuery = (api: Api) =>
  queryOptions({ queryKey: ["boards"], queryFn: ({ signal }) => api.get<BoardsAnswer>("boards", signal) });

export const overviewQuery = (api: Api, profile: string) =>
  queryOptions({
    queryKey: ["overview", profile],
    queryFn: ({ signal }) =>
      api.get<OverviewAnswer>(`overview?profile=${encodeURIComponent(profile)}`, signal),
  });
