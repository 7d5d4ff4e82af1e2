import { headOf } from "../lib/shorten.ts";
import type { Message } from "../providers/message.ts";
import type { SessionSummary } from "../sessions/session.ts";
import { INNER_SOURCES } from "../sessions/session.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { PastMessage, PastSession, PastSessions } from "../tools/workspace.ts";

const INPUT_CHARS = 500;

/** The store as the tools may see it. */
export function createPastSessions(store: SessionStore): PastSessions {
  const messages = (id: string): readonly PastMessage[] =>
    store
      .loadSession(id)
      .messages.filter((message) => message.role !== "system")
      .map((message, index) => ({ number: index + 1, role: message.role, text: textOf(message) }));

  return {
    async search({ text, roles, order, limit }, signal) {
      const found = await store.search({ text, roles, order, limit, marks: { open: "", close: "" } }, signal);
      return found.map(({ session, hits }) => {
        const all = messages(session.id);
        return {
          session: describe(session),
          matches: hits.map(({ role, snippet }) => ({ number: numberOf(all, role, snippet), snippet })),
        };
      });
    },
    list: (limit) =>
      store.list.list({ without: INNER_SOURCES, limit }).map((session) => {
        const { opening, messages: count } = store.list.describe(session);
        return { ...describe(session), opening, messages: count };
      }),
    find(id) {
      const [session, other] = store.list.find(id) ? [store.list.find(id)] : store.list.findByPrefix(id, 2);
      return session === undefined || other !== undefined ? undefined : describe(session);
    },
    messages,
  };
}

function describe({ id, title, source, cwd, activeAt, parent }: SessionSummary): PastSession {
  return { id, title, source, cwd, activeAt, parent };
}

/** What was said aloud, called or answered, in words. */
function textOf(message: Exclude<Message, { role: "system" }>): string {
  if (message.role === "tool") return message.text;
  return message.parts
    .map((part) => {
      if (part.type === "text") return part.text;
      return part.type === "tool-call" ? `${part.tool} ${headOf(part.input, INPUT_CHARS)}` : "";
    })
    .filter((text) => text !== "")
    .join(" ");
}

/** The search tells what it found but not where; the snippet stands in the message word by word. */
function numberOf(messages: readonly PastMessage[], role: string, snippet: string): number | undefined {
  const part = oneLine(snippet.replace(/^…|…$/g, ""));
  return messages.find((message) => message.role === role && oneLine(message.text).includes(part))?.number;
}

function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, " ").trim();
}
