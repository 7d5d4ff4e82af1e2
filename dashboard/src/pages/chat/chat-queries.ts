import { queryOptions } from "@tanstack/react-query";
import type { ApprovalsAnswer } from "../../../../src/api/contract/approvals.ts";
import type { ChatChoices, LiveTurn, SessionChat } from "../../../../src/api/contract/chat.ts";
import type { Api } from "../../data/api.ts";
import { sessionPath } from "../../transcript/session-queries.ts";

export const profilePath = (profile: string): string => `profiles/${encodeURIComponent(profile)}`;
export const turnPath = (id: string): string => `turns/${encodeURIComponent(id)}`;

/** The models and modes to choose from. */
export const choicesQuery = (api: Api, profile: string) =>
  queryOptions({
    queryKey: ["chat choices", profile],
    queryFn: ({ signal }) => api.get<ChatChoices>(`${profilePath(profile)}/chat`, signal),
  });

/** What the server does in a session now. */
export const chatQuery = (api: Api, profile: string, session: string) =>
  queryOptions({
    queryKey: ["chat", profile, session],
    queryFn: ({ signal }) => api.get<SessionChat>(`${sessionPath(profile, session)}/chat`, signal),
  });

/** The questions of all processes. */
export const approvalsQuery = (api: Api) =>
  queryOptions({
    queryKey: ["approvals"],
    queryFn: ({ signal }) => api.get<ApprovalsAnswer>("approvals", signal),
  });

export const readTurn = (api: Api, id: string): Promise<LiveTurn | undefined> =>
  api.get<LiveTurn>(turnPath(id)).catch(() => undefined);
