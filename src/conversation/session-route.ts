import { AppError } from "../lib/errors.ts";
import {
  chooseProvider,
  parseRouteRequest,
  type ReadVariable,
  type RouteRequest,
  type RouteSettings,
} from "../providers/routes/choose-provider.ts";
import { type Route, resolveRoute } from "../providers/routes/resolve-route.ts";
import type { SessionModel } from "../sessions/session.ts";

/** Settings of the section `model` that were given for this run only. */
export interface RunOverrides {
  /** `--model.default`. */
  readonly model: string | undefined;
  /** `--model.provider`. */
  readonly provider: string | undefined;
  /** The layer that set `model.base_url`, if not a file of the profile. */
  readonly address: "flag" | "variable" | undefined;
  readonly apiMode: string | undefined;
}

export interface SessionRouteRequest {
  readonly settings: RouteSettings;
  readonly model: RouteRequest;
  readonly overrides: RunOverrides;
}

export interface SessionRoute {
  readonly route: Route;
  readonly sessionModel: SessionModel;
  /** Reports a route that the user may not expect. */
  readonly notice: string | undefined;
}

/**
 * The route to the model that answers next. A session keeps its provider, model and address; flags and variables of this
 * run replace only the values that they set. A session moves to another server when the user requests another server, or
 * when its address came from settings that have changed. Every move is reported in `notice`.
 */
export function findSessionRoute(
  request: SessionRouteRequest,
  session: SessionModel | undefined,
  variable: ReadVariable,
): SessionRoute {
  const { settings, model, overrides } = request;
  if (session === undefined) return { ...resolveNew(request, variable), notice: undefined };
  const requested = parseRequested(request, session);
  const isOverridden = [model.model, model.provider, ...Object.values(overrides)].some(
    (value) => value !== undefined,
  );
  const keepsServer =
    (requested.provider ?? session.provider) === session.provider &&
    !(
      asksForAddress(request, session, requested.provider, variable) &&
      trimSlashes(settings.model.base_url) !== session.baseUrl
    );
  const found = keepsServer
    ? resolveOwn(request, session, requested, variable)
    : resolveNew(request, variable);
  const { route } = found;
  if (session.baseUrl !== undefined && route.baseUrl !== session.baseUrl) {
    const subject = keepsServer
      ? "The address of this session's model has changed in the settings: the session"
      : "This session";
    const notice = `${subject} continues with ${route.model} at ${route.baseUrl || route.provider} instead of ${session.model} at ${session.baseUrl || session.provider}.`;
    return { ...found, notice };
  }
  return { ...found, notice: isOverridden ? undefined : formatDifference(settings, route, variable) };
}

export function isSameModel(one: SessionModel, other: SessionModel): boolean {
  return (
    one.provider === other.provider &&
    one.model === other.model &&
    one.baseUrl === other.baseUrl &&
    one.keepsAddress === other.keepsAddress &&
    one.apiMode === other.apiMode
  );
}

type ResolvedRoute = Omit<SessionRoute, "notice">;

function resolveNew(
  { settings, model, overrides }: SessionRouteRequest,
  variable: ReadVariable,
): ResolvedRoute {
  const route = resolveRoute(settings, model, variable);
  const keepsAddress = overrides.address !== undefined && route.addressKey === "model.base_url";
  const apiMode = overrides.apiMode === route.apiMode ? overrides.apiMode : undefined;
  return { route, sessionModel: createSessionModel(route, keepsAddress, apiMode) };
}

/** Resolves the session's own provider, at the session's address unless settings set that address and have changed. */
function resolveOwn(
  request: SessionRouteRequest,
  session: SessionModel,
  requested: { readonly provider: string | undefined; readonly model: string | undefined },
  variable: ReadVariable,
): ResolvedRoute {
  const { settings, overrides } = request;
  const { model = session.model } = requested;
  const { provider, baseUrl } = session;
  const apiMode = overrides.apiMode ?? session.apiMode;
  const resolve = (address: string | undefined): Route =>
    resolveRoute(settings, { provider, model, kept: { address, apiMode } }, variable);
  const keepsAddress = session.keepsAddress || asksForAddress(request, session, requested.provider, variable);
  const keepServer = (): ResolvedRoute => {
    const route = resolve(baseUrl || undefined);
    return { route, sessionModel: createSessionModel(route, keepsAddress, apiMode) };
  };
  if (keepsAddress || !baseUrl) return keepServer();
  let route: Route;
  try {
    route = resolve(undefined);
  } catch (error) {
    // The settings name no other server.
    if (error instanceof AppError && error.code === "provider-incomplete") return keepServer();
    throw error;
  }
  if (route.baseUrl === baseUrl) return keepServer();
  // A configured provider serves the same models at its new address. An unnamed server (`model.base_url`) may not know
  // the session's model, so the settings choose the model as well.
  return route.addressKey === "model.base_url"
    ? resolveNew(request, variable)
    : { route, sessionModel: createSessionModel(route, false, apiMode) };
}

function createSessionModel(
  { provider, model, baseUrl }: Route,
  keepsAddress: boolean,
  apiMode: SessionModel["apiMode"],
): SessionModel {
  return { provider, model, baseUrl, keepsAddress, apiMode };
}

function parseRequested({ settings, model, overrides }: SessionRouteRequest, session: SessionModel) {
  const named = parseRouteRequest(
    settings,
    { model: model.model ?? overrides.model, provider: model.provider },
    session.provider,
  );
  if (named.provider !== undefined || overrides.provider === undefined) return named;
  return { ...parseRouteRequest(settings, { provider: overrides.provider }, undefined), model: named.model };
}

/**
 * Whether `model.base_url` of this run applies to the session; from a variable, only if the run names the provider or the
 * provider uses that setting.
 */
function asksForAddress(
  { settings, overrides }: SessionRouteRequest,
  { provider }: SessionModel,
  named: string | undefined,
  variable: ReadVariable,
): boolean {
  if (overrides.address !== "variable") return overrides.address === "flag";
  if (named !== undefined) return true;
  return chooseProvider(settings, { provider, model: "any" }, variable).usesModelSettings;
}

function trimSlashes(address: string): string {
  return address.replace(/\/+$/, "");
}

/** Reports that new sessions start with another model; undefined if the settings name no usable model. */
function formatDifference(settings: RouteSettings, own: Route, variable: ReadVariable): string | undefined {
  try {
    const other = resolveRoute(settings, {}, variable);
    const isSameProvider = own.provider === other.provider;
    const isElsewhere = isSameProvider && own.baseUrl !== other.baseUrl;
    if (isSameProvider && own.model === other.model && !isElsewhere) return undefined;
    const [here, there] = [own, other].map(
      ({ model, provider, baseUrl }) => `${model} ${isElsewhere ? `at ${baseUrl}` : `(${provider})`}`,
    );
    return `This session continues with ${here}; new sessions start with ${there}. Change it with ${isElsewhere ? "--model.base_url" : "-m"}.`;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
