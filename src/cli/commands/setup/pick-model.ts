import type { CatalogueEntry } from "../../../providers/catalogue/merge-models.ts";
import type { CommandContext } from "../../context.ts";
import { formatPrice, formatTokens } from "../model/fact-text.ts";
import { askText, parseNumber, printRows } from "./questions.ts";

/** The maximum number of models that are listed. */
const SHOWN = 15;

/** Asks for a model by number or name; a word that several names contain narrows the list. */
export async function pickModel(
  context: CommandContext,
  server: string,
  models: readonly CatalogueEntry[],
  preset: string | undefined,
): Promise<string> {
  const { terminal } = context;
  const [only, ...others] = models;
  if (only !== undefined && others.length === 0) {
    terminal.note(`\n${server} has one model: ${only.name}`);
    return only.name;
  }
  let shown = [...models].toSorted((one, other) => rank(one, preset) - rank(other, preset));
  for (;;) {
    if (shown.length > 0) {
      terminal.note(`\nModels of ${server}:\n`);
      printRows(context, shown.slice(0, SHOWN).map(describe));
      if (shown.length > SHOWN)
        terminal.note(`      ${shown.length - SHOWN} more; type a word to narrow the list`);
    }
    const first = shown.length === models.length ? (preset ?? shown[0]?.name) : shown[0]?.name;
    const suggestion = first === undefined ? "" : ` [${first}]`;
    const how = shown.length > 0 ? "number or name" : "name";
    const typed = await askText(context, `Model, by ${how}${suggestion}: `);
    const name = typed === "" ? first : (shown.slice(0, SHOWN)[parseNumber(typed) - 1]?.name ?? typed);
    if (name === undefined) continue;
    if (models.length === 0 || name === preset || models.some((model) => model.name === name)) return name;
    const matching = models.filter((model) => model.name.toLowerCase().includes(name.toLowerCase()));
    if (matching.length > 0) shown = matching;
    else terminal.note(`No model of ${server} has ${name} in its name.`);
  }
}

/** Sorts the preset first, then favourites, then models in the data file. */
function rank({ name, isKnown, isFavourite }: CatalogueEntry, preset: string | undefined): number {
  if (name === preset) return 0;
  return isFavourite ? 1 : isKnown ? 2 : 3;
}

function describe({ name, contextTokens, price }: CatalogueEntry): string {
  const window = contextTokens === undefined ? "" : `window ${formatTokens(contextTokens)}`;
  const cost = price === undefined ? "" : formatPrice(price);
  return [name, window, cost].filter((text) => text !== "").join("  ");
}
