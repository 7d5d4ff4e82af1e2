import {
  auditAnswerSchema,
  auditQuerySchema,
  logAnswerSchema,
  logQuerySchema,
} from "../../../contract/logs.ts";
import type { DashboardParts } from "../../dashboard-parts.ts";
import { type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import { type LogPageQuery, readLogLines } from "./read-log-lines.ts";

/** Routes for logs and the audit. */
export const logRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: "/api/profiles/:profile/logs",
    scope: "read",
    summary: "Read the log of a profile from its end",
    query: logQuerySchema,
    answer: logAnswerSchema,
    async handle({ params, query }, parts) {
      const profile = params["profile"] ?? "";
      const { file, before, ...filter } = query;
      const at = await parts.live.watch(`log:${profile}/${file}`);
      return { ...(await readPage(parts, { profile, file, before, filter })), at };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/audit",
    scope: "admin",
    summary: "Read what people did in the dashboard, and what was refused",
    query: auditQuerySchema,
    answer: auditAnswerSchema,
    async handle({ query: { before } }, parts) {
      const { profile } = parts;
      const page = await readPage(parts, { profile, file: "dashboard-audit", before, filter: {} });
      return { lines: page.lines, older: page.older };
    },
  }),
];

interface PageRequest extends LogPageQuery {
  readonly profile: string;
}

async function readPage({ data }: DashboardParts, { profile, ...query }: PageRequest) {
  const redact = await data.profiles.redactor(profile);
  return readLogLines(await data.profiles.logsFolder(profile), query, redact);
}
