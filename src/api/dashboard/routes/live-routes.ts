import { followSchema, topicsChangedSchema, topicsSchema } from "../../contract/events.ts";
import { aliveSchema } from "../../contract/health.ts";
import { positionSchema } from "../../contract/position.ts";
import { type DashboardRoute, dashboardRoute, LIVE_PATH } from "../dashboard-route.ts";

/** The stream of events, and the liveness check. */
export const liveRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: LIVE_PATH,
    scope: "none",
    summary: "Liveness check for supervisors",
    answer: aliveSchema,
    handle: () => ({ status: "ok" as const }),
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/events",
    scope: "read",
    summary: "Follow changes as server-sent events",
    query: followSchema,
    handle({ signIn, query, headers, disconnected, cut }, { live }) {
      const last = positionSchema.safeParse(headers.get("Last-Event-ID")).data;
      const { stream, topics, after } = query;
      const request = { signInId: signIn?.id ?? "", stream, topics, after: last ?? after, cut };
      return live.follow(request, disconnected);
    },
  }),
  dashboardRoute({
    method: "PUT",
    path: "/api/events/:stream/topics",
    scope: "read",
    summary: "Change what an open stream follows",
    body: topicsSchema,
    answer: topicsChangedSchema,
    handle: ({ signIn, params, body }, { live }) =>
      live.changeTopics({ signInId: signIn?.id ?? "", stream: params["stream"] ?? "" }, body.topics),
  }),
];
