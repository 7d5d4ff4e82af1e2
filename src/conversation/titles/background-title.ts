import { AppError } from "../../lib/errors.ts";
import type { UserMessage } from "../../providers/message.ts";
import { cutTitle } from "../../sessions/changes/session-title.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { type TitleModel, writeTitle } from "./write-title.ts";

export interface TitleParts {
  readonly store: SessionStore;
  readonly sessionId: string;
  readonly timeoutMs: number;
  redact(text: string): string;
  openModel(): Promise<TitleModel>;
  /** Throws if the session may not spend more. */
  requireBudget(model: TitleModel): void;
}

/** Writes the title of a session while its turns run. Disposing ends the request and cuts a title from the message. */
export interface BackgroundTitle extends AsyncDisposable {
  /** Starts once, unless the session has a title. */
  start(): void;
}

export function createBackgroundTitle(parts: TitleParts): BackgroundTitle {
  const { store, sessionId } = parts;
  const ending = new AbortController();
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    if (store.list.find(sessionId)?.title !== undefined) return;
    const title = (await ask()) ?? cutFromMessage();
    if (title !== undefined) await store.list.suggestTitle(sessionId, title, AbortSignal.timeout(5_000));
  }

  /** A title is a convenience: no failure of its model reaches the user. */
  async function ask(): Promise<string | undefined> {
    try {
      const model = await parts.openModel();
      parts.requireBudget(model);
      return await writeTitle(model, parts, parts.timeoutMs, ending.signal);
    } catch (error) {
      if (error instanceof AppError || ending.signal.aborted) return undefined;
      throw error;
    }
  }

  function cutFromMessage(): string | undefined {
    const first = store.history().readTranscript(sessionId)[0]?.message;
    return first?.role === "user" ? cutTitle(first satisfies UserMessage, parts.redact) : undefined;
  }

  return {
    start() {
      writing ??= write().catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
      });
      writing.catch(() => undefined); // reported when the conversation ends
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await writing;
    },
  };
}
