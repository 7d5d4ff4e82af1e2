import { findModelChanges, requireKnown, warnOfOverrides } from "../../../app/default-model.ts";
import { writeSettings } from "../../../config/files/write-setting.ts";
import { resolveRoute } from "../../../providers/routes/resolve-route.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { openCatalogue } from "./model-context.ts";

interface SetOptions extends JsonOption {
  readonly provider?: string;
}

export async function setModel(
  context: CommandContext,
  name: string,
  { provider, json }: SetOptions,
): Promise<void> {
  const { terminal, signal } = context;
  const { app, parts } = await openCatalogue(context);
  const route = resolveRoute(parts.settings, { model: name, provider }, parts.variable);
  await requireKnown(parts, route, signal);
  const changes = findModelChanges(app, parts, route);
  const { configPath, home } = app.profile;
  const written = changes.map(({ key, to }) => [["model", key], to] as const);
  if (written.length > 0) await writeSettings(configPath, home, written, signal);
  (await context.log()).info("model set", { provider: route.provider, model: route.model });
  if (json)
    return terminal.printJson({
      provider: route.provider,
      model: route.model,
      address: route.baseUrl,
      changed: changes.map(({ key, from, to }) => ({
        key: `model.${key}`,
        from: from ?? null,
        to: to ?? null,
      })),
    });
  terminal.note(`New sessions use ${route.model} (${route.provider}).`);
  for (const { key, from, to } of changes)
    terminal.note(`  model.${key}: ${from ?? "not set"} → ${to ?? "removed"}`);
  for (const sentence of warnOfOverrides(app, changes)) terminal.note(`  ${sentence}`);
}
