import { stat } from "node:fs/promises";
import { AppError, errnoOf } from "../../../lib/errors.ts";
import { formatTime } from "../../../lib/format-time.ts";
import { resolveSession } from "../../../sessions/resolve-session.ts";
import type { SessionSummary } from "../../../sessions/session.ts";
import { openSessionStore, type SessionStore } from "../../../sessions/session-store.ts";
import type { CommandContext } from "../../context.ts";

/** The store of the profile; undefined while there is no session, so that looking leaves no file behind. */
export async function findStore(context: CommandContext): Promise<SessionStore | undefined> {
  const { profile } = await context.openApp();
  try {
    await stat(profile.sessionsPath);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
  return openSessionStore(profile.sessionsPath, {}, context.signal);
}

export async function requireStore(context: CommandContext): Promise<SessionStore> {
  const store = await findStore(context);
  if (store !== undefined) return store;
  throw new AppError("session-not-found", "There are no sessions yet.", {
    hint: 'Start one with `hermes -z "TASK"`.',
  });
}

export function requireSession(store: SessionStore, which: string): SessionSummary {
  const session = resolveSession(store.list, { resume: which });
  if (session === undefined) throw new Error("a session was asked for");
  return session;
}

export const moment = formatTime;
