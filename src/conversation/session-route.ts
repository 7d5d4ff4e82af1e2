import { AppError } from "../lib/errors.ts";
import type { RouteRequest, RouteSettings, Variable } from "../providers/choose-provider.ts";
import { type Route, resolveRoute } from "../providers/resolve-route.ts";
import type { SessionModel } from "../sessions/session.ts";

export interface SessionRouteRequest {
  readonly settings: RouteSettings;
  readonly model: RouteRequest;
  readonly settingsWin: boolean;
}

/**
 * The way to the model that answers next. What is asked for now wins and means what it means in a new session. Otherwise
 * a session stays with its own, unless the settings have got another address: then they are followed whole, because the
 * name of a model means nothing at another server. Whatever a person may not expect is in the notice.
 */
export function findSessionRoute(
  { settings, model, settingsWin }: SessionRouteRequest,
  session: SessionModel | undefined,
  variable: Variable,
): { readonly route: Route; readonly notice: string | undefined } {
  const isAsked = settingsWin || (model.model ?? model.provider) !== undefined;
  if (session === undefined || isAsked)
    return { route: resolveRoute(settings, model, variable), notice: undefined };
  const route = resolveOwn(settings, session, variable);
  if (!isMoved(route, session)) return { route, notice: differenceOf(settings, session, variable) };
  const now = resolveRoute(settings, {}, variable);
  const notice = `The address of the settings is another one than this session's: it goes on with ${now.model} at ${now.baseUrl}, no longer with ${session.model} at ${session.baseUrl}.`;
  return { route: now, notice };
}

/** Whether a session has this model already. */
export function isSameModel(one: SessionModel, other: SessionModel): boolean {
  return one.provider === other.provider && one.model === other.model && one.baseUrl === other.baseUrl;
}

function resolveOwn(
  settings: RouteSettings,
  { provider, model, baseUrl }: SessionModel,
  variable: Variable,
): Route {
  try {
    return resolveRoute(settings, { provider, model }, variable);
  } catch (error) {
    const isGone = error instanceof AppError && error.code === "provider-incomplete" && baseUrl !== undefined;
    if (!isGone) throw error;
    const message = `This session was answered by ${model} at ${baseUrl}, and model.base_url is no longer set.`;
    const hint = `Go on there with \`--model.base_url ${baseUrl} --model.default ${model}\`, or with another model: -m PROVIDER:NAME.`;
    throw new AppError("provider-incomplete", message, { hint });
  }
}

/** A named server stays the same one wherever it is; the address of `model.base_url` is all the name that a server has. */
function isMoved({ addressKey, baseUrl }: Route, session: SessionModel): boolean {
  return addressKey === "model.base_url" && session.baseUrl !== undefined && session.baseUrl !== baseUrl;
}

/** That new sessions begin with another model; settings without any are none of a session's business. */
function differenceOf(
  settings: RouteSettings,
  session: SessionModel,
  variable: Variable,
): string | undefined {
  try {
    const { provider, model } = resolveRoute(settings, {}, variable);
    if (provider === session.provider && model === session.model) return undefined;
    return `This session goes on with ${session.model} (${session.provider}); new ones begin with ${model} (${provider}). Change it with -m.`;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
