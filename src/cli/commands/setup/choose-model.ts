import type { App } from "../../../app/app.ts";
import { createCatalogueParts } from "../../../app/catalogue.ts";
import { findDefaultRoute, readRouteSettings } from "../../../app/conversation.ts";
import {
  type ListedKey,
  listKeys,
  openAppKeyStates,
  requireFreeVariable,
  requireKeyVariables,
  testProviderKey,
} from "../../../app/provider-keys.ts";
import { AppError } from "../../../lib/errors.ts";
import { mergeModels } from "../../../providers/catalogue/merge-models.ts";
import type { ListedModel } from "../../../providers/catalogue/parse-list.ts";
import { numberedVariable, type PoolKey, parseKey } from "../../../providers/pool/pool-key.ts";
import type { ModelFailure } from "../../../providers/provider.ts";
import type { ReadVariable } from "../../../providers/routes/choose-provider.ts";
import { findProviderProfile } from "../../../providers/routes/profiles.ts";
import { proveRoute } from "../../../providers/routes/prove-route.ts";
import { type Route, resolveRoute } from "../../../providers/routes/resolve-route.ts";
import type { CommandContext } from "../../context.ts";
import { findLocalServers, type LocalServer, titleOf } from "./find-local-servers.ts";
import { pickModel } from "./pick-model.ts";
import { askText, type Choice, chooseRow, parseNumber, printRows } from "./questions.ts";

/** A model that has answered a request, and the key that the user pasted for it. */
export interface ChosenModel {
  readonly route: Route;
  /** Reads a variable as if the pasted key were already stored. */
  readonly variable: ReadVariable;
  readonly pastedKey: PoolKey | undefined;
}

/** How the user wants to get a model. */
type Way =
  | { readonly type: "keep" }
  | { readonly type: "server"; readonly server: LocalServer }
  | { readonly type: "key"; readonly listed: ListedKey }
  | { readonly type: "paste" }
  | { readonly type: "search" }
  | { readonly type: "demo" };

/** Asks until a model has answered. Returns undefined if the current model is kept. */
export async function chooseModel(
  context: CommandContext,
  app: App,
  { offersCurrent }: { readonly offersCurrent: boolean },
): Promise<ChosenModel | undefined> {
  const { terminal } = context;
  for (;;) {
    const way = await chooseWay(context, app, offersCurrent);
    if (way.type === "keep") return undefined;
    try {
      const chosen = await chooseByWay(context, app, way);
      if (chosen !== undefined) return chosen;
    } catch (error) {
      // A refused key or a silent server does not end the setup: another choice may work.
      if (context.signal.aborted || !(error instanceof AppError) || error.code === "interrupted") throw error;
      terminal.note(`\n${terminal.colours.red("✗")} ${error.message}\n  ${error.hint}`);
    }
  }
}

async function chooseWay(context: CommandContext, app: App, offersCurrent: boolean): Promise<Way> {
  const { terminal, signal, reporter } = context;
  terminal.status("Looking for model servers on this machine …");
  using states = openAppKeyStates(app, reporter.onNotice);
  const [servers, keys] = await Promise.all([
    findLocalServers(app, signal),
    listKeys(app, states, undefined, signal),
  ]);
  terminal.status("");
  const current = findDefaultRoute(app.resolved);
  const ways: Choice<Way>[] = [];
  if (offersCurrent && !(current instanceof AppError))
    ways.push({ label: `Keep ${current.model} (${current.provider})`, value: { type: "keep" } });
  for (const server of servers) {
    const { route, models } = server;
    if (models.length === 0) terminal.note(`${titleOf(route)} runs, but it has no model yet.`);
    else
      ways.push({
        label: `${titleOf(route)}: ${models.length === 1 ? models[0]?.name : `${models.length} models`}`,
        value: { type: "server", server },
      });
  }
  const firstKeys = keys.filter(
    ({ provider }, index) => keys.findIndex((key) => key.provider === provider) === index,
  );
  for (const listed of firstKeys)
    ways.push({
      label: `The key in ${listed.key.source}, from ${listed.from === ".env" ? ".env" : "the environment"} (${listed.provider})`,
      value: { type: "key", listed },
    });
  if (servers.length === 0)
    terminal.note("No local model server was found (Ollama, LM Studio, llama.cpp, vLLM).");
  ways.push({ label: "Paste a key of a provider; it stays hidden", value: { type: "paste" } });
  if (servers.length === 0) ways.push({ label: "Look for local servers again", value: { type: "search" } });
  ways.push({ label: "Watch the demo first: no key, no network", value: { type: "demo" } });
  return chooseRow(context, "Which model should Hermes use?", ways, 0);
}

async function chooseByWay(
  context: CommandContext,
  app: App,
  way: Exclude<Way, { type: "keep" }>,
): Promise<ChosenModel | undefined> {
  switch (way.type) {
    case "server":
      return useServer(context, app, way.server);
    case "key":
      return useKey(context, app, way.listed.provider, way.listed.key, undefined);
    case "paste":
      return pasteKey(context, app);
    case "search":
      return undefined;
    case "demo": {
      const { runDemo } = await import("../demo/run-demo.ts");
      await runDemo(context, { environment: "any", isFast: false });
      return undefined;
    }
  }
}

async function useServer(
  context: CommandContext,
  app: App,
  { route: server, models }: LocalServer,
): Promise<ChosenModel> {
  const { terminal, signal } = context;
  const { variable } = app.resolved;
  const settings = readRouteSettings(app.resolved);
  const name = await pickModel(context, titleOf(server), await describe(app, server, models), undefined);
  const route = resolveRoute(settings, { provider: server.provider, model: name }, variable);
  terminal.status(`Asking ${name}; a local model may have to be loaded first …`);
  const { failure } = await proveRoute(route, app.variables, signal);
  terminal.status("");
  requireAnswer(route, failure);
  terminal.note(`${name} answers.`);
  return { route, variable, pastedKey: undefined };
}

/** The providers that are listed; others can be typed by name. */
const COMMON = ["anthropic", "openai-api", "openrouter", "gemini", "deepseek", "xai", "groq", "mistral"];

async function pasteKey(context: CommandContext, app: App): Promise<ChosenModel | undefined> {
  const { terminal, signal } = context;
  terminal.note("\nOf which provider is the key?\n");
  printRows(context, COMMON);
  const typed = (await askText(context, "Number, or the name of another provider [1]: ")) || "1";
  const { provider, variables } = requireKeyVariables(app, COMMON[parseNumber(typed) - 1] ?? typed);
  const [first] = variables;
  // A key in .env is replaced. A key in the environment would override it, so the new key then gets the next free variable.
  const isInEnvironment = (name: string): boolean => Boolean(app.variables[name]?.trim());
  const name = isInEnvironment(first)
    ? requireFreeVariable(first, (one) => Boolean(app.resolved.variable(one)?.trim()))
    : numberedVariable(first, 1);
  const key = parseKey(await terminal.readSecret(`Key of ${provider} (not shown): `, signal), name);
  if (key !== undefined) return useKey(context, app, provider, key, key);
  terminal.note("No key was given.");
  return undefined;
}

async function useKey(
  context: CommandContext,
  app: App,
  provider: string,
  key: PoolKey,
  pastedKey: PoolKey | undefined,
): Promise<ChosenModel> {
  const { terminal, signal, reporter } = context;
  const variable: ReadVariable = (name) => (name === key.source ? key.value : app.resolved.variable(name));
  const settings = readRouteSettings(app.resolved);
  const parts = createCatalogueParts(app, { settings, withinMs: LIST_WITHIN_MS });
  const server = resolveRoute(settings, { provider, model: "any" }, variable);
  terminal.status(`Asking ${provider} for its models …`);
  const listed = await parts.fetchList(server, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof AppError) return []; // the user can still type the name of a model
    throw error;
  });
  terminal.status("");
  const preset = findProviderProfile(provider)?.defaultModel ?? settings.providers[provider]?.model;
  const model = await pickModel(context, provider, await describe(app, server, listed), preset);
  using states = openAppKeyStates(app, reporter.onNotice);
  terminal.status(`Asking ${model} …`);
  const { route, failure } = await testProviderKey(app, states, { provider, key, model }, signal);
  terminal.status("");
  requireAnswer(route, failure);
  terminal.note(`${provider} accepts the key, and ${model} answers.`);
  return { route, variable, pastedKey };
}

const LIST_WITHIN_MS = 5_000;

async function describe(app: App, route: Route, listed: readonly ListedModel[]) {
  const settings = readRouteSettings(app.resolved);
  const { cache } = createCatalogueParts(app, { settings, withinMs: LIST_WITHIN_MS });
  return mergeModels(settings, await cache.loadData(), route, listed);
}

function requireAnswer(route: Route, failure: ModelFailure | undefined): void {
  if (failure !== undefined)
    throw new AppError("key-unproved", `${route.model} does not answer: ${failure.message}`, {
      hint: failure.hint ?? "Choose another one.",
    });
}
