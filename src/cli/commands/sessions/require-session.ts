import { stat } from "node:fs/promises";
import { AppError } from "../../../lib/errors.ts";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";
import { createRedactor, type Redactor } from "../../../lib/redact/redactor.ts";
import { resolveSession } from "../../../sessions/resolve-session.ts";
import type { SessionSummary } from "../../../sessions/session.ts";
import { openSessionStore, type SessionStore } from "../../../sessions/session-store.ts";
import type { CommandContext } from "../../context.ts";

/** The session store of the profile; undefined if it does not exist, so that reading does not create it. */
export async function findStore(context: CommandContext): Promise<SessionStore | undefined> {
  const { profile } = await context.openApp();
  if ((await unlessMissing(stat(profile.sessionsPath))) === undefined) return undefined;
  return openSessionStore(profile.sessionsPath, {}, context.signal);
}

export async function requireStore(context: CommandContext): Promise<SessionStore> {
  const store = await findStore(context);
  if (store !== undefined) return store;
  throw new AppError("session-not-found", "There are no sessions yet.", {
    hint: 'Start one with `hermes -z "TASK"`.',
  });
}

/** Hides secrets in the text of sessions that a command prints. */
export async function openRedactor(context: CommandContext): Promise<Redactor> {
  const { resolved } = await context.openApp();
  return createRedactor({ secrets: resolved.secrets });
}

export function requireSession(store: SessionStore, which: string): SessionSummary {
  const session = resolveSession(store.list, { resume: which });
  if (session === undefined) throw new Error("resolveSession found no session");
  return session;
}

/** Hides the secrets that Hermes knows in a value that is printed as JSON. */
export function hideInJson(value: object, { redactKnown }: Redactor): unknown {
  return JSON.parse(JSON.stringify(value), (_, item) =>
    typeof item === "string" ? redactKnown(item) : item,
  );
}
