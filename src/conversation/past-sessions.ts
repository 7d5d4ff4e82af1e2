import { headOf } from "../lib/text/shorten.ts";
import type { Message } from "../providers/message.ts";
import { collapseWhitespace } from "../sessions/search/snippet.ts";
import type { SessionSummary } from "../sessions/session.ts";
import { INTERNAL_SOURCES } from "../sessions/session.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { PastMessage, PastSession, PastSessions } from "../tools/tool-parts.ts";

const INPUT_CHARS = 500;

/**
 * The read-only view of the store for tools. An earlier session that read untrusted text is untrusted itself: `onUntrusted`
 * receives the name of each such session whose text is shown.
 */
export function createPastSessions(
  store: SessionStore,
  redact: (text: string) => string,
  onUntrusted: (source: string) => void,
): PastSessions {
  const messages = (id: string): readonly PastMessage[] => {
    const [source] = store.untrustedSources(id);
    if (source !== undefined) onUntrusted(`session ${id}, which contains ${source}`);
    return store
      .history()
      .readTranscript(id)
      .flatMap(({ number, message }) =>
        number === undefined ? [] : [{ number, role: message.role, text: textOf(message) }],
      );
  };

  return {
    async search(query, signal) {
      const found = await store.search({ ...query, marks: { open: "", close: "" } }, signal);
      return found.map(({ session, hits }) => {
        const all = messages(session.id);
        return {
          session: describe(session),
          matches: hits.map(({ role, snippet }) => ({ number: numberOf(all, role, snippet), snippet })),
        };
      });
    },
    list: (limit) =>
      store.list.list({ without: INTERNAL_SOURCES, limit }).map((session) => {
        const { opening, messages: count } = store.list.describe(session, redact);
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

/** Search hits have no message number, so the message is found by its snippet, which is a verbatim part of it. */
function numberOf(messages: readonly PastMessage[], role: string, snippet: string): number | undefined {
  const part = collapseWhitespace(snippet.replace(/^…|…$/g, ""));
  return messages.find((message) => message.role === role && collapseWhitespace(message.text).includes(part))
    ?.number;
}
