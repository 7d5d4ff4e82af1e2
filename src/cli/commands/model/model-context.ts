import type { App } from "../../../app/app.ts";
import { createCatalogueParts } from "../../../app/catalogue.ts";
import { readRouteSettings } from "../../../app/conversation.ts";
import type { CatalogueParts } from "../../../providers/catalogue/load-catalogue.ts";
import type { CommandContext } from "../../context.ts";
import { startApp } from "../../start-app.ts";

const ANSWER_WITHIN_MS = 5_000;

/** The profile of a `model` command, and its catalogue. */
export async function openCatalogue(
  context: CommandContext,
): Promise<{ readonly app: App; readonly parts: CatalogueParts }> {
  const app = await startApp(context);
  const settings = readRouteSettings(app.resolved);
  return { app, parts: createCatalogueParts(app, { settings, withinMs: ANSWER_WITHIN_MS }) };
}
