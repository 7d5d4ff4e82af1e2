import { z } from "zod";
import { AppError } from "../../../../lib/errors.ts";
import { INTERNAL_SOURCES, type SessionSummary } from "../../../../sessions/session.ts";
import {
  type SearchHit,
  type SessionsAnswer,
  type ShownSession,
  sessionEditSchema,
  sessionsAnswerSchema,
  sessionsQuerySchema,
  shownSessionSchema,
  turnsAnswerSchema,
} from "../../../contract/sessions.ts";
import { usageAnswerSchema, usageQuerySchema } from "../../../contract/usage.ts";
import type { DashboardParts } from "../../dashboard-parts.ts";
import { type DashboardCall, type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import { totalsByDay } from "../overview/spending.ts";
import { type SessionSource, toSession, toTurn } from "./session-view.ts";

const PAGE = 50;
const FOUND = 30;
const TURNS = 20;
const MAX_TURNS = 100;
const DAY_MS = 86_400_000;
/** Control characters, which no text contains. */
const MARKS = { open: "\u{F0000}", close: "\u{F0001}" };

const SESSIONS = "/api/profiles/:profile/sessions";

/** Routes for the sessions of a profile. */
export const sessionRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: SESSIONS,
    scope: "read",
    summary: "List sessions, or search their messages and calls",
    query: sessionsQuerySchema,
    answer: sessionsAnswerSchema,
    async handle(call, parts) {
      const source = await openSource(call, parts);
      const at = await parts.live.watch("always");
      const { q = "" } = call.query;
      const found = await (q.trim() === "" ? listSessions : searchSessions)(
        source,
        call.query,
        call.disconnected,
      );
      return { ...found, sources: [...source.store.list.sources()], at };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${SESSIONS}/:id`,
    scope: "read",
    summary: "Describe a session with its cost and its running turn",
    answer: shownSessionSchema,
    handle: async (call, parts) => showSession(call, await openSource(call, parts), parts),
  }),
  dashboardRoute({
    method: "PATCH",
    path: `${SESSIONS}/:id`,
    scope: "work",
    summary: "Rename a session, or hide it from lists",
    body: sessionEditSchema,
    answer: shownSessionSchema,
    async handle(call, parts) {
      const source = await openSource(call, parts);
      const { store } = source;
      const { id } = requireSession(call, source);
      const { title, archived } = call.body;
      if (title !== undefined) await store.list.rename(id, title, call.disconnected);
      if (archived !== undefined)
        await store.history().setArchived(id, archived, parts.data.identity, call.disconnected);
      return showSession(call, source, parts);
    },
  }),
  dashboardRoute({
    method: "DELETE",
    path: `${SESSIONS}/:id`,
    scope: "work",
    summary: "Delete a session permanently",
    async handle(call, parts) {
      const source = await openSource(call, parts);
      const { id } = requireSession(call, source);
      await source.store.deleteSession(id, parts.data.identity, call.disconnected);
      return undefined;
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${SESSIONS}/:id/turns`,
    scope: "read",
    summary: "Read the newest turns before a cursor",
    query: z.strictObject({
      before: z.coerce.number().int().positive().optional(),
      limit: z.coerce.number().int().min(1).max(MAX_TURNS).optional(),
    }),
    answer: turnsAnswerSchema,
    async handle(call, parts) {
      const source = await openSource(call, parts);
      const at = await parts.live.watch("always");
      const { id } = requireSession(call, source);
      const { before, limit = TURNS } = call.query;
      const page = source.store.turns()(id, { before, limit });
      return {
        turns: page.turns.map((turn) => toTurn(turn, source.redact)),
        before: page.before === undefined ? null : String(page.before),
        at,
      };
    },
  }),
  dashboardRoute({
    method: "GET",
    path: `${SESSIONS}/:id/outputs/:call`,
    scope: "read",
    summary: "Read the whole output of a call as a file",
    async handle(call, parts) {
      const source = await openSource(call, parts);
      const { id } = requireSession(call, source);
      const output = source.store.facts().findOutput(id, call.params["call"] ?? "");
      if (output === undefined) throw new AppError("message-not-found", "This call has no output.");
      return new Response(source.redact(output), {
        headers: {
          "content-type": "text/plain; charset=utf-8",
          "content-disposition": 'attachment; filename="output.txt"',
        },
      });
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/profiles/:profile/usage",
    scope: "read",
    summary: "Sum tokens and cost by day or by model",
    query: usageQuerySchema,
    answer: usageAnswerSchema,
    async handle(call, parts) {
      const { store } = await openSource(call, parts);
      const { by, until = Date.now(), from = until - 30 * DAY_MS } = call.query;
      const rows = by === "day" ? totalsByDay(store.usage, from, until) : store.usage.byModel(from);
      return { rows: [...rows], total: store.usage.between(from, until), from, until };
    },
  }),
];

async function openSource(
  { params }: Pick<DashboardCall, "params">,
  { data }: DashboardParts,
): Promise<SessionSource> {
  const profile = params["profile"] ?? "";
  const [store, redact] = [await data.profiles.sessions(profile), await data.profiles.redactor(profile)];
  return { profile, store, redact };
}

function requireSession({ params }: Pick<DashboardCall, "params">, { store }: SessionSource): SessionSummary {
  const id = params["id"] ?? "";
  const session = store.list.find(id);
  if (session !== undefined) return session;
  throw new AppError("session-not-found", `There is no session ${JSON.stringify(id)}.`);
}

type Query = z.infer<typeof sessionsQuerySchema>;
type Found = Pick<SessionsAnswer, "sessions" | "next" | "count">;

/** The sources that a query asks for; by default, all but those that programs start. */
function sourcesOf({ source = "" }: Query) {
  const named = source.split(",").flatMap((name) => name.trim() || []);
  if (named.includes("all")) return {};
  return named.length === 0 ? { without: INTERNAL_SOURCES } : { sources: named };
}

async function listSessions(source: SessionSource, query: Query, signal: AbortSignal): Promise<Found> {
  const { store } = source;
  const filter = { ...sourcesOf(query), archived: query.archived === "true", since: query.since };
  const found = store.list.list({ ...filter, limit: PAGE + 1, after: parseCursor(query.after) });
  const page = found.slice(0, PAGE);
  const last = found.length > PAGE ? page.at(-1) : undefined;
  const sessions = [];
  for (const session of page) sessions.push({ ...(await toSession(source, session, signal)), hits: [] });
  return {
    sessions,
    next: last === undefined ? null : `${last.activeAt}:${last.id}`,
    count: store.list.countMatching(filter),
  };
}

function parseCursor(text: string | undefined) {
  if (text === undefined) return undefined;
  const [, time, id] = /^(\d{1,16}):(\w{1,64})$/.exec(text) ?? [];
  if (time === undefined || id === undefined)
    throw new AppError("usage-wrong", "The page cursor is invalid.");
  return { activeAt: Number(time), id };
}

async function searchSessions(source: SessionSource, query: Query, signal: AbortSignal): Promise<Found> {
  const { store, redact } = source;
  const { q = "", order = "best", since } = query;
  const { sources } = sourcesOf(query);
  const found = await store.search({ text: q, limit: FOUND, order, since, sources, marks: MARKS }, signal);
  const sessions: Found["sessions"] = [];
  for (const { session, hits } of found)
    sessions.push({
      ...(await toSession(source, session, signal)),
      hits: hits.map(
        ({ role, createdAt, isUndone, snippet, turnId }): SearchHit => ({
          ...{ role, isUndone, at: createdAt, turn: turnId },
          snippet: splitMarks(redact(snippet)),
        }),
      ),
    });
  return { sessions, next: null, count: null };
}

function splitMarks(text: string): SearchHit["snippet"] {
  return text.split(MARKS.open).flatMap((piece, index) => {
    const [hit = "", rest = ""] = index === 0 ? ["", piece] : piece.split(MARKS.close, 2);
    return [
      { text: hit, isHit: true },
      { text: rest, isHit: false },
    ].filter((part) => part.text !== "");
  });
}

async function showSession(
  call: Pick<DashboardCall, "params" | "disconnected">,
  source: SessionSource,
  { live, data }: DashboardParts,
): Promise<ShownSession> {
  const { store } = source;
  const at = await live.watch("always");
  const session = requireSession(call, source);
  const shown = await toSession(source, session, call.disconnected);
  const open = store.facts().findOpenTurn(session.id);
  const family = store.list.family(session.id);
  return {
    ...shown,
    turns: family.find(({ id }) => id === session.id)?.turns ?? 0,
    usage: store.usage.ofSession(session.id),
    openTurn: open === undefined ? null : { ...open, isAlive: shown.isRunning },
    task: session.source === "kanban" ? await findTask(data, session.id, call.disconnected) : null,
    family: family.map(({ id, title, parent }) => ({ id, title: title ?? null, parent: parent ?? null })),
    at,
  };
}

/** The task whose worker uses a session. */
async function findTask(
  { boards }: DashboardParts["data"],
  sessionId: string,
  signal: AbortSignal,
): Promise<ShownSession["task"]> {
  for (const slug of await boards.list(signal)) {
    const { store } = await boards.open(slug, signal);
    const run = await store.findRunOfSession(sessionId, signal);
    if (run !== undefined) return { board: slug, id: run.taskId, runId: run.id };
  }
  return null;
}
