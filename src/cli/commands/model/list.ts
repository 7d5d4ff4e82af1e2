import { formatDuration } from "../../../lib/time/format-time.ts";
import { loadCatalogue, type ProviderModels } from "../../../providers/catalogue/load-catalogue.ts";
import type { CatalogueEntry, EntrySource } from "../../../providers/catalogue/merge-models.ts";
import { requireProvider } from "../../../providers/routes/choose-provider.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { renderTable } from "../../terminal/table.ts";
import { factFields, formatAbilities, formatPrice, formatTokens } from "./fact-text.ts";
import { openCatalogue } from "./model-context.ts";

interface ListOptions extends JsonOption {
  readonly provider?: string;
  readonly refresh?: boolean;
  readonly all?: boolean;
}

/** Of a longer list, only favourites, configured models and models in the data file are shown. */
const LONG_LIST = 60;

export async function listModels(
  context: CommandContext,
  words: readonly string[],
  { provider, refresh, all = false, json }: ListOptions,
): Promise<void> {
  const { terminal, signal } = context;
  const { parts } = await openCatalogue(context);
  const found = await loadCatalogue(
    parts,
    {
      provider: provider === undefined ? undefined : requireProvider(provider, parts.settings),
      use: refresh ? "fresh" : "recent",
      unusable: all,
    },
    signal,
  );
  const groups = found.map((group) => ({ ...group, models: group.models.filter(matches(group, words)) }));
  for (const { provider: name, problem } of found)
    if (problem !== undefined) terminal.note(`hermes: ${name}: ${problem.message}`);
  if (json) return terminal.printJson(groups.flatMap((group) => group.models.map(toJson(group))));
  const shown = groups.filter(({ models }) => models.length > 0);
  if (shown.length === 0) return terminal.print(emptyText(found, words));
  const now = parts.clock.now();
  terminal.print(
    shown
      .map((group) => renderGroup(group, { now, isCut: !all && words.length === 0 }, context))
      .join("\n\n"),
  );
}

function matches({ provider }: ProviderModels, words: readonly string[]) {
  return ({ name }: CatalogueEntry): boolean =>
    words.every((word) => `${provider}:${name}`.toLowerCase().includes(word.toLowerCase()));
}

function renderGroup(
  group: ProviderModels,
  { now, isCut }: { readonly now: number; readonly isCut: boolean },
  { terminal }: CommandContext,
): string {
  const { models } = group;
  const chosen = models.filter(
    ({ isFavourite, source, isKnown }) => isFavourite || isKnown || source !== "server",
  );
  const isLong = isCut && models.length > LONG_LIST;
  const shown = !isLong ? models : chosen.length > 0 ? chosen : models.slice(0, LONG_LIST);
  const rows = shown.map((model) => [
    `${model.isFavourite ? "*" : " "} ${model.name}`,
    formatTokens(model.contextTokens),
    formatPrice(model.price),
    [formatAbilities(model), model.source === "server" ? "" : SOURCES[model.source]]
      .filter((text) => text !== "")
      .join("; "),
  ]);
  const title = `${terminal.colours.bold(group.provider)}: ${describeOrigin(group, now)}`;
  const hidden = models.length - shown.length;
  return [
    title,
    renderTable(["  MODEL", "WINDOW", "IN / OUT", ""], rows, terminal),
    ...(hidden > 0 ? [`  ${hidden} more: give a word to search for, or --all.`] : []),
  ].join("\n");
}

const SOURCES: { readonly [Source in EntrySource]: string } = {
  server: "",
  settings: "from the settings",
  favourite: "favourite, not in the list",
  data: "",
};

function describeOrigin({ route, listedAt, problem, models }: ProviderModels, now: number): string {
  if (route === undefined || listedAt === undefined) {
    const why =
      route === undefined ? "no key" : problem === undefined ? "not asked" : "no list from the server";
    return models.some(({ source }) => source === "data") ? `${why}; from the data file` : why;
  }
  const age = Math.max(0, now - listedAt);
  return `listed by ${new URL(route.baseUrl).host} ${age < 60_000 ? "just now" : `${formatDuration(age)} ago`}`;
}

function toJson({ provider, route, listedAt }: ProviderModels) {
  return ({ name, source, isFavourite, ...facts }: CatalogueEntry) => ({
    provider,
    name,
    source,
    listed_at: listedAt ?? null,
    usable: route !== undefined,
    favourite: isFavourite,
    ...factFields(facts),
  });
}

function emptyText(found: readonly ProviderModels[], words: readonly string[]): string {
  if (found.some(({ models }) => models.length > 0))
    return `No model matches ${words.join(" ")}. See \`hermes model list --all\`.`;
  return found.length === 0
    ? "No provider is set up. Run `hermes setup`, or add a key with `hermes auth add PROVIDER`; `hermes model list --all` shows well-known models."
    : "The server lists no models. Name one with `hermes model set NAME`.";
}
