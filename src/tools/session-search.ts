import { z } from "zod";
import { headOf, tailOf } from "../lib/text/shorten.ts";
import { defineTool, failed, okJson } from "./define-tool.ts";
import type { Tool, ToolResult } from "./tool.ts";
import type { PastHit, PastMessage, PastSession, PastSessions } from "./tool-parts.ts";

const input = z.strictObject({
  query: z.string().min(1).optional().describe('Words; "a phrase", OR, NOT, prefix*'),
  session_id: z.string().min(1).optional(),
  around_message_id: z.int().min(1).optional().describe("With session_id"),
  window: z.int().min(1).max(50).default(5).describe("Messages on each side"),
  limit: z.int().min(1).max(20).default(3).describe("Sessions"),
  sort: z.enum(["best", "newest"]).default("best"),
  role_filter: z.array(z.enum(["user", "assistant", "tool"])).default([]),
});

/** Of a long session, this many messages from its start and as many from its end are shown. */
const BOOKEND_MESSAGES = 20;
const SURROUNDING_BOOKENDS = 3;
const LONG_MESSAGE = 2_000;
const SHORT_MESSAGE = 300;

/** Searches earlier sessions, reads a session or the part around a message, or lists the latest sessions. */
export function createSessionSearch(sessions: PastSessions, current: string): Tool {
  return defineTool({
    name: "session_search",
    toolset: "session_search",
    description:
      "Search earlier sessions with this user: query finds messages, session_id reads a session (around_message_id: a part of it), no arguments list the latest.",
    input,
    mutates: false,
    async run(call, { signal }) {
      const { query, session_id: id, around_message_id: around, window, limit } = call;
      if (id !== undefined) {
        const session = sessions.find(id);
        if (session === undefined)
          return failed(
            `There is no session ${id}, or several ids start with it. Call without arguments to list sessions.`,
          );
        return read(session, sessions.messages(session.id), around, window);
      }
      if (around !== undefined) return failed("around_message_id needs session_id.");
      if (query === undefined) return browse(sessions, current, limit);
      const order = call.sort;
      const found = await sessions.search(
        { text: query, roles: call.role_filter, order, limit, searcher: current },
        signal,
      );
      return discover(sessions, rankHits(found), window);
    },
  });
}

function browse(sessions: PastSessions, current: string, limit: number): ToolResult {
  const listed = sessions
    .list(limit + 1)
    .filter(({ id }) => id !== current)
    .slice(0, limit);
  return okJson({
    sessions: listed.map((session) => ({
      ...describe(session),
      messages: session.messages,
      opening: shorten(session.opening, SHORT_MESSAGE),
    })),
  });
}

/** Keeps one hit per conversation, even if it spans several sessions; scheduled sessions come last. */
function rankHits(found: readonly PastHit[]): readonly PastHit[] {
  const isScheduled = ({ session }: PastHit): boolean => session.source === "cron";
  const ranked = [...found.filter((hit) => !isScheduled(hit)), ...found.filter(isScheduled)];
  const seen = new Set<string>();
  return ranked.filter(({ session: { id, parent } }) => {
    if (seen.has(id) || (parent !== undefined && seen.has(parent))) return false;
    seen.add(id);
    if (parent !== undefined) seen.add(parent);
    return true;
  });
}

/** The best hit with its surrounding messages, the others with their snippets only. */
function discover(sessions: PastSessions, hits: readonly PastHit[], window: number): ToolResult {
  if (hits.length === 0) return okJson({ sessions: [], hint: "Nothing found. Try other or fewer words." });
  const [top] = hits;
  const at = top?.matches.find(({ number }) => number !== undefined)?.number;
  const messages = top === undefined || at === undefined ? [] : sessions.messages(top.session.id);
  const snippets = new Map(top?.matches.map(({ number, snippet }) => [number, snippet]));
  const around = at === undefined ? [] : surrounding(messages, at, window);
  return okJson({
    sessions: hits.map(({ session, matches }) => ({
      ...describe(session),
      matches: matches.map(({ number, snippet }) => ({ message_id: number, snippet })),
    })),
    best:
      at === undefined
        ? undefined
        : {
            opening: showMessages(messages.slice(0, SURROUNDING_BOOKENDS), SHORT_MESSAGE),
            around: showMessages(around, LONG_MESSAGE, snippets),
            ending: showMessages(messages.slice(-SURROUNDING_BOOKENDS), SHORT_MESSAGE),
          },
    hint: "Read more with session_id, or with session_id and around_message_id.",
  });
}

function read(
  session: PastSession,
  messages: readonly PastMessage[],
  around: number | undefined,
  window: number,
): ToolResult {
  const total = messages.length;
  if (around !== undefined && around > total)
    return failed(`${session.id} has ${total} messages; ${around} is past its end.`);
  const isLong = around === undefined && total > 2 * BOOKEND_MESSAGES;
  const bookends = [...messages.slice(0, BOOKEND_MESSAGES), ...messages.slice(-BOOKEND_MESSAGES)];
  const part = around === undefined ? (isLong ? bookends : messages) : surrounding(messages, around, window);
  return okJson({
    ...describe(session),
    total_messages: total,
    messages: showMessages(part, LONG_MESSAGE),
    hint: isLong
      ? `Only the first and the last ${BOOKEND_MESSAGES} messages; read the others with around_message_id.`
      : undefined,
  });
}

function surrounding(messages: readonly PastMessage[], at: number, window: number): readonly PastMessage[] {
  return messages.slice(Math.max(0, at - 1 - window), at + window);
}

function describe({ id, title, source, cwd, activeAt }: PastSession) {
  return { session_id: id, title, source, cwd, last_active: new Date(activeAt).toISOString() };
}

/** Each message up to `maxChars`: around its snippet if it was found, otherwise its beginning. */
function showMessages(
  messages: readonly PastMessage[],
  maxChars: number,
  snippets: ReadonlyMap<number | undefined, string> = new Map(),
) {
  return messages.map(({ number, role, text }) => {
    const snippet = snippets.get(number);
    return { id: number, role, text: shorten(text, maxChars, snippet) };
  });
}

function shorten(text: string, maxChars: number, snippet = ""): string {
  if (text.length <= maxChars) return text;
  const found = snippet.replace(/^…|…$/g, "");
  const flat = found === "" ? text : text.replace(/[\s\p{Cc}]+/gu, " "); // as in snippets
  const at = Math.max(0, flat.indexOf(found) - Math.floor((maxChars - found.length) / 2));
  const part = headOf(tailOf(flat, flat.length - at), maxChars);
  return `${at > 0 ? "… " : ""}${part}… (${text.length} characters)`;
}
