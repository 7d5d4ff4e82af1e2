import { AppError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { formatTime } from "../../lib/time/format-time.ts";
import { chooseKey, firstToRecover, type PoolStrategy, stateOf } from "../pool/choose-key.ts";
import type { KeyState, KeyStates } from "../pool/key-states.ts";
import type { PoolKey } from "../pool/pool-key.ts";
import { hostOf } from "./address.ts";
import { isCostUnknown, type Route } from "./resolve-route.ts";
import type { OpenRoute } from "./route-http.ts";

/** A model that answers if all models before it in the chain cannot. */
export interface Fallback {
  readonly name: string;
  /** Throws if the route is not usable as configured. Called only when the fallback is needed. */
  resolve(): Route;
}

export interface RouteChainOptions {
  /** The route of the session's model. */
  readonly primary: Route;
  readonly fallbacks: readonly Fallback[];
  readonly strategies: Readonly<Record<string, PoolStrategy>>;
  readonly states: KeyStates;
  readonly clock: Clock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
  open(route: Route): Promise<OpenRoute>;
}

/** An open route with one of its keys; `index` is its place in the chain, 0 for the model of the session. */
export interface Candidate extends OpenRoute {
  readonly index: number;
  readonly route: Route;
}

/** A model that did not answer or got no request, and why. */
export interface Tried {
  readonly name: string;
  readonly message: string;
}

interface KeyFilter {
  /** The variable of the key that the session used last. */
  readonly preferred?: string | undefined;
  /** Variables of keys that have failed. */
  readonly without?: readonly string[];
}

interface FallbackFilter extends KeyFilter {
  readonly after: number;
  readonly isCostLimited: boolean;
}

/** Finds usable keys and models, and owns their connections. */
export function createRouteChain({
  primary,
  fallbacks,
  strategies,
  states,
  clock,
  random,
  open,
}: RouteChainOptions) {
  const opened = new Map<string, Candidate>();

  async function openCandidate(index: number, route: Route): Promise<Candidate> {
    const id = `${index} ${route.keySource ?? ""}`;
    const known = opened.get(id);
    if (known !== undefined) return known;
    const candidate = { index, route, ...(await open(route)) };
    opened.set(id, candidate);
    return candidate;
  }

  /** The route with a key that is not cooling down; otherwise why not, and the route with the key that recovers first. */
  async function findReady(
    route: Route,
    { preferred, without = [] }: KeyFilter,
    signal: AbortSignal,
  ): Promise<{ readonly route: Route } | { readonly reason: string; readonly first: Route }> {
    const known = await states.of(serverOf(route), signal);
    const keys = keysOf(route).filter(({ source }) => !without.includes(source));
    const strategy = Object.hasOwn(strategies, route.provider) ? strategies[route.provider] : undefined;
    const now = clock.now();
    const key = chooseKey(keys, known, { strategy: strategy ?? "fill_first", preferred, now, random });
    if (key !== undefined) return { route: withKey(route, key) };
    const first = firstToRecover(keys, known);
    if (first === undefined) return { reason: "has no other key", first: route };
    return { reason: describeCooling(stateOf(first, known)), first: withKey(route, first) };
  }

  /** The next usable fallback. The reasons why earlier ones are not usable are added to `tried`. */
  async function findFallback(
    { after, isCostLimited, ...filter }: FallbackFilter,
    tried: Tried[],
    signal: AbortSignal,
  ): Promise<Candidate | undefined> {
    for (const [at, { name, resolve }] of fallbacks.entries()) {
      if (at < after) continue;
      try {
        const route = resolve();
        if (isSameTarget(route, primary)) continue; // the session may use a model of the chain
        if (isCostLimited && isCostUnknown(route)) {
          tried.push({ name, message: "its price is not known, so its cost cannot be limited." });
          continue;
        }
        const ready = await findReady(route, filter, signal);
        if ("route" in ready) return await openCandidate(at + 1, ready.route);
        tried.push({ name, message: `${ready.reason}.` });
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        tried.push({ name, message: `${error.message} ${error.hint}` });
      }
    }
    return undefined;
  }

  return {
    open: openCandidate,
    findReady,
    findFallback,
    async [Symbol.asyncDispose]() {
      for (const { http } of opened.values()) await http[Symbol.asyncDispose]();
    },
  };
}

function isSameTarget(one: Route, other: Route): boolean {
  const targetOf = ({ provider, model, baseUrl, keys }: Route) =>
    JSON.stringify([provider, model, baseUrl, keys.map(({ value }) => value)]);
  return targetOf(one) === targetOf(other);
}

/** A server without a key can cool down too, for instance if it is overloaded and says for how long. */
export function keysOf({ keys }: Route): readonly PoolKey[] {
  return keys.length === 0 ? [{ value: "", source: "" }] : keys;
}

export function withKey(route: Route, { value, source }: PoolKey): Route {
  return value === "" ? route : { ...route, key: value, keySource: source };
}

/** The server that the states of a route's keys belong to. Without keys, one host may run several servers under different paths. */
export function serverOf({ baseUrl, model, keys }: Pick<Route, "baseUrl" | "model" | "keys">): string {
  if (baseUrl === "") return `scripted ${model}`;
  return keys.length === 0 ? baseUrl : hostOf(baseUrl);
}

const WHY_COOLING: Partial<Record<NonNullable<KeyState["kind"]>, string>> = {
  "rate-limited": "reached a rate limit",
  quota: "has used up its plan or credit",
  auth: "was refused",
  unavailable: "was not available",
};

export function describeCooling(state: KeyState | undefined): string {
  const why = (state?.kind && WHY_COOLING[state.kind]) ?? "failed";
  return `is not used until ${formatTime(state?.coolingUntil ?? 0)}, because it ${why}`;
}
