import type { LogName } from "../../../../lib/log/log-path.ts";
import type { LogLine as StoredLine } from "../../../../lib/log/log-record.ts";
import { readLogPage } from "../../../../lib/log/read-log-page.ts";
import {
  auditAnswerSchema,
  auditQuerySchema,
  type LogFilter,
  type LogLine,
  logAnswerSchema,
  logQuerySchema,
} from "../../../contract/logs.ts";
import type { DashboardParts } from "../../dashboard-parts.ts";
import { type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import { fitsLogFilter, toLogLine } from "./log-line.ts";

const PAGE_LINES = 500;
const PAGE_BYTES = 200_000;
/** A rare match is searched for in pieces, each of which is one request. */
const SCAN_BYTES = 2_000_000;
/** Lines of several processes are only roughly in the order of their times. */
const DISORDER_MS = 60_000;

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

interface PageRequest {
  readonly profile: string;
  readonly file: LogName;
  readonly before: string | undefined;
  readonly filter: LogFilter;
}

async function readPage({ data }: DashboardParts, { profile, file, before, filter }: PageRequest) {
  const redact = await data.profiles.redactor(profile);
  const oldest = (filter.since ?? Number.NEGATIVE_INFINITY) - DISORDER_MS;
  const { lines, older, ends } = await readLogPage<LogLine>(await data.profiles.logsFolder(profile), {
    ...{ file, before, maxLines: PAGE_LINES, maxBytes: PAGE_BYTES, scanBytes: SCAN_BYTES },
    select(placed) {
      // Redacting is slow, so most lines are omitted before it; a search also must not find what is redacted.
      if (
        !fitsLogFilter(
          toLogLine(placed, (text) => text),
          filter,
        )
      )
        return undefined;
      const line = toLogLine(placed, redact);
      return fitsLogFilter(line, filter) ? line : undefined;
    },
    sizeOf: (line) => Buffer.byteLength(JSON.stringify(line)),
    isTooOld: (line: StoredLine) => line.kind === "record" && Date.parse(line.record.time) < oldest,
  });
  return { lines: [...lines], older: older ?? null, ends: { ...ends } };
}
