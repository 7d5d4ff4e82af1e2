import type { ProviderModels } from "../../../providers/catalogue/load-catalogue.ts";
import type { CatalogueEntry } from "../../../providers/catalogue/merge-models.ts";
import { findProviderProfile } from "../../../providers/routes/profiles.ts";
import { formatPrice, formatTokens } from "../../commands/model/fact-text.ts";
import { cutText } from "../../terminal/fit-text.ts";
import { quoteLine } from "../../terminal/quote-text.ts";
import type { KeyBindings } from "../input/key-bindings.ts";
import { createPanel, type Panel, type PanelRow } from "./panel.ts";

/** A model of the list. */
export interface ListedModel extends CatalogueEntry {
  readonly provider: string;
  /** What is missing before the model can be used; undefined if nothing is. */
  readonly missing: string | undefined;
}

export interface ModelPickerParts {
  readonly models: readonly ListedModel[];
  /** Models that sessions used lately, as `provider:name`, the latest first. */
  readonly recent: readonly string[];
  readonly keys: KeyBindings;
  /** Tokens that the new model has to read again. */
  readonly cachedTokens: number;
  readonly query?: string | undefined;
  onChoose(model: ListedModel): void;
  /** Undefined where the choice is permanent anyway. */
  readonly onKeep?: ((model: ListedModel) => void) | undefined;
}

const NAME_COLUMNS = 22;

/** The models of a catalogue in one list, with what is missing for those that cannot be used. */
export function toListedModels(groups: readonly ProviderModels[]): ListedModel[] {
  return groups.flatMap(({ provider, route, models }) => {
    const { keyVariables = [], baseUrl } = findProviderProfile(provider) ?? {};
    const missing =
      route !== undefined
        ? undefined
        : baseUrl === undefined
          ? "no address"
          : `no ${keyVariables[0] ?? "key"}`;
    return models.map((model) => ({ ...model, provider, missing }));
  });
}

export function createModelPicker(parts: ModelPickerParts): Panel {
  const { keys, onChoose, onKeep } = parts;
  return createPanel<ListedModel>({
    title: "model",
    query: parts.query,
    rows: listModelRows(parts),
    footer(model) {
      const enter = keys.label("send") ?? "Enter";
      const keep = keys.label("stash");
      if (onKeep === undefined) return `${enter}: for new sessions`;
      const kept = keep === undefined ? "" : ` · ${keep}: permanently`;
      return `${enter}: this session${lostCache(parts.cachedTokens, model)}${kept}`;
    },
    onChoose,
    onKey(name, model) {
      if (name === "stash") onKeep?.(model);
    },
  });
}

/** Recent models first, then favourites, then all others; those that cannot be used are last and dim. */
export function listModelRows({
  models,
  recent,
}: Pick<ModelPickerParts, "models" | "recent">): PanelRow<ListedModel>[] {
  const rank = (model: ListedModel): number => {
    if (model.missing !== undefined) return recent.length + 2;
    const at = recent.indexOf(idOf(model));
    return at !== -1 ? at : model.isFavourite ? recent.length : recent.length + 1;
  };
  return models
    .map((model) => ({ model, at: rank(model) }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ model }) => ({
      value: model,
      search: idOf(model),
      isDim: model.missing !== undefined,
      text() {
        const name = cutText(quoteLine(model.name), NAME_COLUMNS).padEnd(NAME_COLUMNS);
        const mark = recent.includes(idOf(model)) ? "recent" : model.isFavourite ? "favourite" : "";
        const facts = `${formatTokens(model.contextTokens).padStart(6)}  ${formatPrice(model.price).padEnd(13)}`;
        return `${name} ${model.provider.padEnd(10)} ${facts} ${model.missing ?? mark}`.trimEnd();
      },
    }));
}

export function idOf({ provider, name }: { readonly provider: string; readonly name: string }): string {
  return `${provider}:${name}`;
}

/** The new model reads the whole conversation again, at its full price. */
function lostCache(tokens: number, model: ListedModel | undefined): string {
  if (tokens === 0) return "";
  const cost =
    model?.price === undefined ? "" : `, about $${((tokens * model.price.input) / 1e6).toFixed(2)}`;
  return ` (cache of ${formatTokens(tokens)} is lost${cost})`;
}
