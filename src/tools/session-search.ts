import { z } from "zod";
import { headOf } from "../lib/shorten.ts";
import { defineTool, failed, okJson } from "./define-tool.ts";
import type { Tool, ToolResult } from "./tool.ts";
import type { PastHit, PastMessage, PastSession, PastSessions } from "./workspace.ts";

const input = z.strictObject({
  query: z.string().min(1).optional().describe('Words; "a phrase", OR, NOT, begin*'),
  session_id: z.string().min(1).optional(),
  around_message_id: z.int().min(1).optional().describe("With session_id"),
  window: z.int().min(1).max(50).default(5).describe("Messages on each side"),
  limit: z.int().min(1).max(20).default(3).describe("Sessions"),
  sort: z.enum(["best", "newest"]).default("best"),
  role_filter: z.array(z.enum(["user", "assistant", "tool"])).default([]),
});

/** Of a session that is read whole, these at each end when it is too long. */
const BOOKEND_MESSAGES = 20;
const SURROUNDING_BOOKENDS = 3;
const LONG_MESSAGE = 2_000;
const SHORT_MESSAGE = 300;

/** Looks into earlier conversations: what fits words, around a message, a whole one, or which there are. */
export function createSessionSearch(sessions: PastSessions, current: string): Tool {
  return defineTool({
    name: "session_search",
    toolset: "session_search",
    description:
      "Look into earlier sessions with this user: query finds messages, session_id reads one (around_message_id: a part of it), nothing lists the latest.",
    input,
    mutates: false,
    async run(call, { signal }) {
      const { query, session_id: id, around_message_id: around, window, limit } = call;
      if (id !== undefined) {
        const session = sessions.find(id);
        if (session === undefined)
          return failed(
            `There is no session ${id}, or several begin so. Call without arguments to list them.`,
          );
        return read(session, sessions.messages(session.id), around, window);
      }
      if (around !== undefined) return failed("around_message_id needs session_id.");
      if (query === undefined) return browse(sessions, current, limit);
      const order = call.sort;
      // One more, because the session that asks is not told of itself.
      const found = await sessions.search(
        { text: query, roles: call.role_filter, order, limit: limit + 1 },
        signal,
      );
      return discover(sessions, chosen(found, current, limit), window);
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

/** One hit for each conversation, of however many parts it consists; what a schedule has made comes last. */
function chosen(found: readonly PastHit[], current: string, limit: number): readonly PastHit[] {
  const isScheduled = ({ session }: PastHit): boolean => session.source === "cron";
  const ranked = [...found.filter((hit) => !isScheduled(hit)), ...found.filter(isScheduled)];
  const seen = new Set<string>();
  const first = ranked.filter(({ session: { id, parent } }) => {
    if (id === current || seen.has(id) || (parent !== undefined && seen.has(parent))) return false;
    seen.add(id);
    if (parent !== undefined) seen.add(parent);
    return true;
  });
  return first.slice(0, limit);
}

/** The best one with what stands around it, the others in a few words. */
function discover(sessions: PastSessions, hits: readonly PastHit[], window: number): ToolResult {
  if (hits.length === 0) return okJson({ sessions: [], hint: "Nothing fits. Try other or fewer words." });
  const [top] = hits;
  const at = top?.matches.find(({ number }) => number !== undefined)?.number;
  const messages = top === undefined || at === undefined ? [] : sessions.messages(top.session.id);
  return okJson({
    sessions: hits.map(({ session, matches }) => ({
      ...describe(session),
      matches: matches.map(({ number, snippet }) => ({ message_id: number, snippet })),
    })),
    best:
      at === undefined
        ? undefined
        : {
            opening: shown(messages.slice(0, SURROUNDING_BOOKENDS), SHORT_MESSAGE),
            around: shown(messages.slice(Math.max(0, at - 1 - window), at + window), LONG_MESSAGE),
            ending: shown(messages.slice(-SURROUNDING_BOOKENDS), SHORT_MESSAGE),
          },
    hint: "Read on with session_id, or with session_id and around_message_id.",
  });
}

function read(
  session: PastSession,
  messages: readonly PastMessage[],
  around: number | undefined,
  window: number,
): ToolResult {
  const total = messages.length;
  if (around !== undefined) {
    if (around > total) return failed(`${session.id} has ${total} messages; ${around} is past its end.`);
    const part = messages.slice(Math.max(0, around - 1 - window), around + window);
    return okJson({ ...describe(session), total_messages: total, messages: shown(part, LONG_MESSAGE) });
  }
  const isLong = total > 2 * BOOKEND_MESSAGES;
  const part = isLong
    ? [...messages.slice(0, BOOKEND_MESSAGES), ...messages.slice(-BOOKEND_MESSAGES)]
    : messages;
  return okJson({
    ...describe(session),
    total_messages: total,
    messages: shown(part, LONG_MESSAGE),
    hint: isLong
      ? `Only the first and the last ${BOOKEND_MESSAGES}; the rest with around_message_id.`
      : undefined,
  });
}

function describe({ id, title, source, cwd, activeAt }: PastSession) {
  return { session_id: id, title, source, cwd, last_active: new Date(activeAt).toISOString() };
}

function shown(messages: readonly PastMessage[], most: number) {
  return messages.map(({ number, role, text }) => ({ id: number, role, text: shorten(text, most) }));
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${headOf(text, most)}… (${text.length} characters)`;
}
