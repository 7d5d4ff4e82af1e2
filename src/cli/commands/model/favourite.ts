import { requireKnown } from "../../../app/default-model.ts";
import { addToSetting, removeFromSetting } from "../../../config/files/write-setting.ts";
import { AppError } from "../../../lib/errors.ts";
import { chooseProvider } from "../../../providers/routes/choose-provider.ts";
import { resolveRoute } from "../../../providers/routes/resolve-route.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { openCatalogue } from "./model-context.ts";

const SETTING = ["model", "favourites"];

export async function addFavourite(
  context: CommandContext,
  name: string,
  { json }: JsonOption,
): Promise<void> {
  const { terminal, signal } = context;
  const { app, parts } = await openCatalogue(context);
  const route = resolveRoute(parts.settings, { model: name }, parts.variable);
  await requireKnown(parts, route, signal);
  const favourite = `${route.provider}:${route.model}`;
  await addToSetting(app.profile.configPath, app.profile.home, SETTING, favourite, signal);
  if (json) return terminal.printJson({ favourite, is_favourite: true });
  terminal.note(`${favourite} is a favourite.`);
}

export async function removeFavourite(
  context: CommandContext,
  name: string,
  { json }: JsonOption,
): Promise<void> {
  const { terminal, signal } = context;
  const { app, parts } = await openCatalogue(context);
  const { favourites } = parts.settings.model;
  const favourite = favourites.includes(name) ? name : fullName(name);
  if (!favourites.includes(favourite))
    throw new AppError("model-unknown", `${favourite} is not a favourite.`, {
      hint: `Favourites: ${favourites.join(", ") || "none"}.`,
    });
  await removeFromSetting(app.profile.configPath, app.profile.home, SETTING, favourite, signal);
  if (json) return terminal.printJson({ favourite, is_favourite: false });
  terminal.note(`${favourite} is no longer a favourite.`);

  function fullName(short: string): string {
    const { provider, model } = chooseProvider(parts.settings, { model: short }, parts.variable);
    return `${provider}:${model}`;
  }
}
