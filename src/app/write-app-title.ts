import { findSessionRoute } from "../conversation/session-route.ts";
import { createTitleModel } from "../conversation/titles/title-model.ts";
import { writeTitle } from "../conversation/titles/write-title.ts";
import { AppError } from "../lib/errors.ts";
import { createRedactor } from "../lib/redact/redactor.ts";
import { systemClock } from "../lib/time/clock.ts";
import { type OpenRoute, openRoute } from "../providers/routes/route-http.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { App } from "./app.ts";
import { readRouteSettings, runOverrides } from "./conversation.ts";

/** Replaces the title of a session with one that a model writes. */
export async function writeAppTitle(
  { resolved, variables }: App,
  store: SessionStore,
  sessionId: string,
  signal: AbortSignal,
): Promise<void> {
  const { config, variable, secrets } = resolved;
  const settings = { ...config, ...readRouteSettings(resolved) };
  const { session } = store.loadSession(sessionId);
  let opened: OpenRoute | undefined;
  const main = async () => {
    const request = { settings, model: {}, overrides: runOverrides(resolved) };
    const { route } = findSessionRoute(request, session, variable);
    opened = await openRoute(route, variables, { clock: systemClock, cacheTtl: "5m" });
    return opened.model;
  };
  await using titleModel = createTitleModel(settings, main, { variable, variables });
  const redactor = createRedactor({ secrets });
  const timeoutMs = config.auxiliary.title_generation.timeout * 1_000;
  const parts = { store, sessionId, redact: (text: string) => redactor.redact(text) };
  const title = await writeTitle(await titleModel.open(), parts, timeoutMs, signal).finally(() =>
    opened?.http[Symbol.asyncDispose](),
  );
  signal.throwIfAborted();
  if (title === undefined)
    throw new AppError("title-unwritten", `The model wrote no title for session ${sessionId}.`);
  await store.list.retitle(sessionId, title, signal);
}
