import { dirname } from "node:path";
import type { TurnLimits } from "../agent/turn-limits.ts";
import { type LoadedConfig, requireUsable } from "../config/load-config.ts";
import type { LayerValue, ResolvedConfig } from "../config/resolved-config.ts";
import type { CompactSessionRequest, SessionCompaction } from "../conversation/compact-session.ts";
import type { ConversationRequest } from "../conversation/conversation-request.ts";
import type { OpenConversation } from "../conversation/open-conversation.ts";
import type { RunOverrides } from "../conversation/session-route.ts";
import { AppError } from "../lib/errors.ts";
import { ensurePrivateFolder } from "../lib/files/files.ts";
import type { PolicyState } from "../policy/policy.ts";
import type { RouteCatalogue } from "../providers/catalogue/route-catalogue.ts";
import type { ParsedImage } from "../providers/image.ts";
import type { RouteSettings } from "../providers/routes/choose-provider.ts";
import { type Route, resolveRoute } from "../providers/routes/resolve-route.ts";
import type { App } from "./app.ts";
import { createPolicyState, MANAGED_RULES } from "./approvals.ts";

/** The settings that decide a route. Besides `model.base_url`, the stored address and the one that its key was stored with. */
export function readRouteSettings({ config, settings }: ResolvedConfig): RouteSettings {
  const validValues = (key: string) =>
    (settings.get(key)?.layerValues ?? []).filter(({ problem }) => problem === undefined);
  const [address] = validValues("model.base_url");
  const addresses = validValues("model.base_url").filter(({ origin }) => origin !== "flag");
  const find = (onlyStored: boolean): string =>
    String(addresses.find(({ isStored }) => isStored || !onlyStored)?.value ?? "");
  const isKeyStored = validValues("model.api_key")[0]?.isStored ?? true;
  return {
    model: config.model,
    providers: config.providers,
    modelAddress: {
      stored: find(true),
      ofKey: find(isKeyStored),
      ofRun: address?.isStored === false ? String(address.value) : "",
    },
  };
}

/** The route of a task that names no model, or the error if there is none. */
export function findDefaultRoute(resolved: LoadedConfig): Route | AppError {
  try {
    return resolveRoute(readRouteSettings(resolved), {}, resolved.variable);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** The `model` settings that apply only to this run: those set by flags, and address and API mode also if set by a variable. */
export function runOverrides({ settings }: ResolvedConfig): RunOverrides {
  const find = (key: string): LayerValue | undefined =>
    settings.get(key)?.layerValues.find(({ problem }) => problem === undefined);
  const findFlag = (key: string): string | undefined => {
    const layerValue = find(key);
    return layerValue?.origin === "flag" ? String(layerValue.value) : undefined;
  };
  const address = find("model.base_url");
  const apiMode = find("model.api_mode");
  const provider = findFlag("model.provider");
  return {
    model: findFlag("model.default") || undefined,
    provider: provider === "auto" ? undefined : provider,
    address:
      address?.isStored !== false || !address.value
        ? undefined
        : address.origin === "flag"
          ? "flag"
          : "variable",
    apiMode: apiMode?.isStored === false && apiMode.value !== "auto" ? String(apiMode.value) : undefined,
  };
}

/** The options of `hermes chat` that limit a turn. For a missing option, the setting applies. */
export interface LimitOptions {
  readonly maxTurns?: number;
  readonly runBudget?: number;
  readonly maxCost?: number;
}

export function turnLimits({ resolved }: App, { maxTurns, runBudget, maxCost }: LimitOptions): TurnLimits {
  const { agent } = resolved.config;
  return {
    maxRequests: maxTurns ?? (agent.max_turns !== null && agent.max_turns > 0 ? agent.max_turns : undefined),
    maxSeconds: runBudget ?? agent.run_budget_seconds ?? undefined,
    maxCostUsd: maxCost ?? agent.max_cost_usd ?? undefined,
  };
}

/** Fetches an image that a user named by its address, if the settings allow that address. */
export async function fetchImage(
  { variables, resolved }: App,
  address: string,
  signal: AbortSignal,
): Promise<ParsedImage> {
  const { fetchPage } = await import("../context/fetch-page.ts");
  const rules = { variables, allowsPrivate: resolved.config.security.allow_private_urls };
  const page = await fetchPage(address, rules, signal);
  return "image" in page ? page.image : { problem: "the server sent something else" };
}

/** How long to wait for the model list of a local server if only the window of its model is needed. */
export const LOOKUP_WITHIN_MS = 1_500;

async function openRouteCatalogue(app: App): Promise<RouteCatalogue> {
  const [{ createRouteCatalogue }, { createCatalogueParts }] = await Promise.all([
    import("../providers/catalogue/route-catalogue.ts"),
    import("./catalogue.ts"),
  ]);
  const settings = readRouteSettings(app.resolved);
  return createRouteCatalogue(createCatalogueParts(app, { settings, withinMs: LOOKUP_WITHIN_MS }));
}

/** Opens a conversation of the profile, for any surface. */
export async function openAppConversation(
  app: App,
  request: Pick<
    ConversationRequest,
    | "environments"
    | "environment"
    | "task"
    | "askingTask"
    | "choice"
    | "earlierExchanges"
    | "model"
    | "surface"
    | "reasoningEffort"
  > & {
    readonly policy?: PolicyState | undefined;
    readonly usesContextFiles?: boolean | undefined;
    /** Database of the session, if it is not the profile's own. */
    readonly sessionsPath?: string | undefined;
  },
  signal: AbortSignal,
): Promise<OpenConversation> {
  const { profile, resolved } = app;
  const [{ openConversation }, { createRedactor }, { createTrustedRules }, catalogue] = await Promise.all([
    import("../conversation/open-conversation.ts"),
    import("../lib/redact/redactor.ts"),
    import("../policy/rules/trusted-rules.ts"),
    openRouteCatalogue(app),
    ensurePrivateFolder(profile.home),
  ]);
  return openConversation(
    {
      ...request,
      usesContextFiles: request.usesContextFiles ?? true,
      home: profile.home,
      keysPath: profile.keysPath,
      sessionsPath: request.sessionsPath ?? profile.sessionsPath,
      spillHome: request.sessionsPath === undefined ? profile.home : dirname(request.sessionsPath),
      settings: { ...resolved.config, ...readRouteSettings(resolved) },
      overrides: runOverrides(resolved),
      catalogue,
      redactor: createRedactor({ secrets: resolved.secrets }),
      policy: request.policy ?? createPolicyState(app, {}),
      rules: {
        managedPath: MANAGED_RULES,
        configPath: profile.configPath,
        async loadUserRules() {
          const reloaded = await app.reload();
          requireUsable(reloaded); // a broken file would count as a file without rules
          return reloaded.config.approvals;
        },
        trusted: createTrustedRules(profile.home),
      },
    },
    signal,
  );
}

/** Compacts a session of the profile between two turns. */
export async function compactAppSession(
  app: App,
  request: Omit<CompactSessionRequest, "sessionsPath" | "settings" | "overrides" | "catalogue">,
  signal: AbortSignal,
): Promise<SessionCompaction> {
  const { profile, resolved } = app;
  const [{ compactSession }, catalogue] = await Promise.all([
    import("../conversation/compact-session.ts"),
    openRouteCatalogue(app),
  ]);
  return compactSession(
    {
      ...request,
      sessionsPath: profile.sessionsPath,
      settings: { ...resolved.config, ...readRouteSettings(resolved) },
      overrides: runOverrides(resolved),
      catalogue,
    },
    signal,
  );
}
