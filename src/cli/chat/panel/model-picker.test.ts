import { createColors } from "picocolors";
import { expect, test } from "vitest";
import { createKeyBindings } from "../input/key-bindings.ts";
import { drawPanel } from "../window/draw-lists.ts";
import { createModelPicker, type ListedModel, type ModelPickerParts } from "./model-picker.ts";

const keys = createKeyBindings();

function model(provider: string, name: string, more: Partial<ListedModel> = {}): ListedModel {
  const facts = { contextTokens: 200_000, price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } };
  return {
    ...facts,
    provider,
    name,
    source: "server",
    isFavourite: false,
    isKnown: true,
    missing: undefined,
    ...more,
  };
}

function openPicker(more: Partial<ModelPickerParts> = {}) {
  const chosen: string[] = [];
  const panel = createModelPicker({
    models: [
      model("perplexity", "sonar-pro", { missing: "no PERPLEXITY_API_KEY" }),
      model("openrouter", "claude-sonnet-4"),
      model("openrouter", "favoured", { isFavourite: true }),
      model("anthropic", "claude-sonnet-4-5"),
    ],
    recent: ["anthropic:claude-sonnet-4-5"],
    ...{ keys, cachedTokens: 61_000 },
    onChoose: ({ name }) => void chosen.push(`now ${name}`),
    onKeep: ({ name }) => void chosen.push(`kept ${name}`),
    ...more,
  });
  const press = (...sequences: string[]): boolean =>
    sequences.map((sequence) => panel.press(sequence, keys)).at(-1) ?? true;
  const rows = (width = 79): readonly string[] =>
    drawPanel(panel.view(), keys, 17, width, createColors(false)).rows;
  return { panel, press, rows, chosen };
}

test("C44: recent models are first, then favourites, then all; one that cannot be used says what is missing", () => {
  expect(openPicker().rows()).toEqual([
    expect.stringMatching(/^model: +4 of 4 · Esc leaves$/),
    expect.stringMatching(/^❯ claude-sonnet-4-5 +anthropic +200k {2}\$3 \/ \$15 +recent$/),
    expect.stringMatching(/^ {2}favoured .*favourite$/),
    expect.stringMatching(/^ {2}claude-sonnet-4 +openrouter/),
    expect.stringMatching(/^ {2}sonar-pro .*no PERPLEXITY_API_KEY$/),
    "  Enter: this session (cache of 61k is lost, about $0.18) · Ctrl+S: permanently",
  ]);
});

test("C44: typing filters, and Enter or Ctrl+S choose the marked model", () => {
  const { press, rows, chosen } = openPicker();
  press(..."son4");
  expect(rows()).toHaveLength(4);
  press("\u001b[B", "\u0013");
  expect(press("\r")).toBe(false);
  expect(chosen).toEqual(["kept claude-sonnet-4", "now claude-sonnet-4"]);
  const other = openPicker();
  expect(other.press(..."zzz", "\r")).toBe(true);
  expect(other.press("\u001b")).toBe(false);
  expect(other.chosen).toEqual([]);
});

test("C2: a panel of many rows has at most ten, and the marked one is among them", () => {
  const models = Array.from({ length: 500 }, (_, index) => model("p", `model-${index}`));
  const { press, rows } = openPicker({ models, recent: [] });
  press(...Array.from({ length: 300 }, () => "\u001b[B"));
  expect(rows()).toHaveLength(10);
  expect(rows().find((row) => row.startsWith("❯"))).toContain("model-300");
  for (const width of [20, 40]) for (const row of rows(width)) expect(row.length).toBeLessThanOrEqual(width);
});
