import type { ChatChoices } from "../../../api/contract/chat.ts";
import { AppError } from "../../../lib/errors.ts";
import { loadCatalogue } from "../../../providers/catalogue/load-catalogue.ts";
import type { App } from "../../app.ts";
import { createCatalogueParts } from "../../catalogue.ts";
import { findDefaultRoute, readRouteSettings } from "../../conversation.ts";
import { modeOf } from "./open-chats.ts";

/** Only stored lists are read, so no server is waited for. */
const NO_SERVER_MS = 1;

/** What a message in a chat of the profile can be answered with. */
export async function readChatChoices(app: App, cwd: string, signal: AbortSignal): Promise<ChatChoices> {
  const { resolved } = app;
  const route = findDefaultRoute(resolved);
  const settings = readRouteSettings(resolved);
  const parts = createCatalogueParts(app, { settings, withinMs: NO_SERVER_MS });
  const providers = await loadCatalogue(parts, { use: "stored" }, signal);
  const hasNone = route instanceof AppError;
  return {
    model: hasNone ? null : `${route.provider}:${route.model}`,
    problem: hasNone ? { message: route.message, hint: route.hint } : null,
    models: providers.flatMap(({ provider, models }) => models.map(({ name }) => `${provider}:${name}`)),
    mode: modeOf(app),
    environment: resolved.config.terminal.backend,
    cwd,
  };
}
