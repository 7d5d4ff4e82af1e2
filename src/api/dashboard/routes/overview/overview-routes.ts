import { z } from "zod";
import { ApiError } from "../../../api-error.ts";
import { approvalReplySchema, approvalSchema, approvalsAnswerSchema } from "../../../contract/approvals.ts";
import { healthAnswerSchema, profilesAnswerSchema } from "../../../contract/health.ts";
import { overviewAnswerSchema } from "../../../contract/overview.ts";
import { type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import { toApproval } from "./approval-view.ts";
import { readDispatchers, readOverview } from "./read-overview.ts";

const profileQuery = z.strictObject({ profile: z.string().optional() });

/** Routes that concern the whole home. */
export const overviewRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: "/api/overview",
    scope: "read",
    summary: "Read what runs, what needs a person, the spending and the latest events",
    query: profileQuery,
    answer: overviewAnswerSchema,
    async handle({ query, disconnected }, { data, live, profile }) {
      const at = await live.watch("always");
      return { ...(await readOverview(data, query.profile ?? profile, disconnected)), at };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/profiles",
    scope: "read",
    summary: "List the profiles",
    answer: profilesAnswerSchema,
    async handle(_, { data, live }) {
      const at = await live.watch("always");
      return { profiles: await data.profiles.list(), at };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/approvals",
    scope: "read",
    summary: "List the questions that wait for a person, of any process of any profile",
    answer: approvalsAnswerSchema,
    async handle(_, { data, live }) {
      const at = await live.watch("always");
      return { approvals: (await data.profiles.waiting()).map(toApproval), at };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/approvals/:id",
    scope: "work",
    summary: "Answer a question; `always` changes the settings and needs the scope admin",
    body: approvalReplySchema,
    answer: approvalSchema,
    async handle({ params, body, signIn, disconnected }, { data }) {
      const isAlways = body.verdict === "approved" && body.scope === "always";
      if (isAlways && !signIn?.scopes.includes("admin"))
        throw new ApiError(
          403,
          "scope_missing",
          "This answer changes the settings, which needs the scope admin.",
        );
      return toApproval(await data.profiles.answer(params["id"] ?? "", body, disconnected));
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/health",
    scope: "read",
    summary: "Read the findings of `hermes doctor` and the state of this server",
    query: profileQuery,
    answer: healthAnswerSchema,
    async handle({ query, disconnected }, { data, live, profile, version }) {
      const at = await live.watch("always");
      const findings = await data.profiles.check(query.profile ?? profile, disconnected);
      const dispatchers = [];
      for (const slug of await data.boards.list(disconnected))
        dispatchers.push(
          ...(await readDispatchers(await data.boards.open(slug, disconnected), disconnected)),
        );
      return {
        findings: findings.map(({ name, status, detail, fix }) => ({ name, status, detail, fix })),
        dispatchers,
        server: {
          ...{ version, node: process.versions.node, pid: process.pid },
          ...live.counts(),
          startedAt: Math.round(Date.now() - process.uptime() * 1_000),
          memoryBytes: process.memoryUsage.rss(),
        },
        at,
      };
    },
  }),
];
