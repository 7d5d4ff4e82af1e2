import { endSentence } from "../../lib/text/end-sentence.ts";
import { isCooling, stateOf } from "../pool/choose-key.ts";
import { findCooldown } from "../pool/cooldown.ts";
import { fingerprintOf } from "../pool/pool-key.ts";
import {
  FAILURE_KINDS,
  formatRoute,
  type Model,
  type ModelEvent,
  type ModelFailure,
  type ModelRequest,
  type RouteName,
} from "../provider.ts";
import type { Route } from "../routes/resolve-route.ts";
import {
  type Candidate,
  createRouteChain,
  describeCooling,
  keysOf,
  type RouteChainOptions,
  serverOf,
  type Tried,
} from "../routes/route-chain.ts";
import { type AttemptFailed, mayRepeat, type RetryOptions, withRetries } from "./with-retries.ts";

/** The next request goes to another key or another model, and the prompt cache of the provider is lost. */
export interface RouteSwitched {
  readonly type: "route-switched";
  readonly from: RouteName;
  readonly to: RouteName;
  readonly reason: string;
}

export interface FailoverOptions extends Omit<RetryOptions, "hasSpareKey">, RouteChainOptions {
  /** The cooldown of a key that reached a limit, if the server states none. */
  readonly cooldownMs: number;
}

export interface TurnStart {
  /** Where the last request of the session went; undefined if there was none or the user has changed the model since. */
  readonly last: RouteName | undefined;
  /** Whether the cost of the turn is limited: then a model with an unknown price cannot be used. */
  readonly isCostLimited: boolean;
}

/** A model that first retries, then switches to another key of its provider, then to the next model of the chain. */
export interface FailoverModel extends Omit<Model, "stream">, AsyncDisposable {
  /** The first request of the turn goes to the primary route, unless all its keys cool down and a fallback is ready. */
  startTurn(start: TurnStart): void;
  stream(
    request: ModelRequest,
    signal: AbortSignal,
  ): AsyncIterable<ModelEvent | AttemptFailed | RouteSwitched>;
  /** Name of the setting or variable that contains the current key. */
  readonly keySource: string | undefined;
  /** The current model without retries and switches. */
  current(): Model;
  /** Whether the cost of the current turn is limited. */
  isCostLimited(): boolean;
}

/** Opens the primary route. The turn that follows starts with `startTurn`. */
export async function openFailover(options: FailoverOptions): Promise<FailoverModel> {
  const { primary, states, clock } = options;
  const chain = createRouteChain(options);
  /** Whether there is another key or a fallback to switch to. */
  const hasChoice = options.fallbacks.length > 0 || primary.keys.length > 1;
  let current = await chain.open(0, primary);
  let start: TurnStart | undefined; // set until the first request of the turn
  let isCostLimited = false;
  let skipped: Tried[] = []; // the candidates that could not be used at the start of the turn
  let used: Candidate | undefined; // the candidate whose use was recorded in this turn
  let accepted: Candidate | undefined; // the candidate whose cooldown was ended in this turn
  let recording: Promise<unknown> = Promise.resolve();

  /** Chooses the route at the start of a turn. Returns the switch if the last request of the session went elsewhere. */
  async function chooseRoute(
    { last, ...turn }: TurnStart,
    signal: AbortSignal,
  ): Promise<RouteSwitched | undefined> {
    ({ isCostLimited } = turn);
    const preferred = last?.keySource;
    skipped = [];
    const ready = hasChoice ? await chain.findReady(primary, { preferred }, signal) : { route: primary };
    if ("route" in ready) current = await chain.open(0, ready.route);
    else {
      const unused = [{ name: `${primary.provider}/${primary.model}`, message: `${ready.reason}.` }];
      const fallback = await chain.findFallback({ after: 0, isCostLimited, preferred }, unused, signal);
      current = fallback ?? (await chain.open(0, ready.first));
      if (fallback !== undefined) skipped = unused;
    }
    const from = last ?? (current.index === 0 ? undefined : nameOf(primary));
    const to = nameOf(current.route);
    if (from === undefined || isSameRoute(from, to)) return undefined;
    const switched = { type: "route-switched", from, to } as const;
    if ("reason" in ready && current.index > 0)
      return { ...switched, reason: `${primary.provider} ${ready.reason}.` };
    if (from.provider !== to.provider || from.model !== to.model)
      return { ...switched, reason: BACK_TO_PRIMARY };
    const key = primary.keys.find(({ source }) => source === from.keySource);
    const state = key && stateOf(key, await states.of(serverOf(primary), signal));
    const why = isCooling(state, clock.now()) ? describeCooling(state) : "is no longer set";
    return { ...switched, reason: `${from.keySource} ${why}.` };
  }

  /** Another key of the same provider, if that may help, or the next fallback. */
  async function findNext(
    { kind }: ModelFailure,
    tried: Tried[],
    without: readonly string[],
    signal: AbortSignal,
  ): Promise<Candidate | undefined> {
    const { index, route } = current;
    const ready = FAILURE_KINDS[kind].rotates ? await chain.findReady(route, { without }, signal) : undefined;
    if (ready !== undefined && "route" in ready) return chain.open(index, ready.route);
    return chain.findFallback({ after: index, isCostLimited }, tried, signal);
  }

  /** Remembers for all processes that a key cannot be used for a while. */
  async function startCooldown(
    { route }: Candidate,
    failure: ModelFailure,
    signal: AbortSignal,
  ): Promise<void> {
    const ms = findCooldown(failure, { isSole: keysOf(route).length === 1, limitMs: options.cooldownMs });
    if (ms === undefined) return;
    await states.startCooldown(
      serverOf(route),
      fingerprintOf(route.key ?? ""),
      { ms, kind: failure.kind },
      signal,
    );
  }

  /** Not awaited: it runs while the model thinks. */
  function recordUse(candidate: Candidate, signal: AbortSignal): void {
    const { key } = candidate.route;
    if (key === undefined || used === candidate) return;
    used = candidate;
    recording = recording.then(() => states.recordUse(serverOf(candidate.route), fingerprintOf(key), signal));
  }

  /** Ends the cooldown of a key that the server has accepted. */
  async function endCooldown(candidate: Candidate, signal: AbortSignal): Promise<void> {
    const { route } = candidate;
    if (accepted === candidate || (route.key === undefined && !hasChoice)) return;
    accepted = candidate;
    const fingerprint = fingerprintOf(route.key ?? "");
    const state = (await states.of(serverOf(route), signal)).get(fingerprint);
    if (state?.coolingUntil !== undefined) await states.endCooldown(serverOf(route), fingerprint, signal);
  }

  return {
    get provider() {
      return current.model.provider;
    },
    get name() {
      return current.model.name;
    },
    get contextTokens() {
      return current.model.contextTokens;
    },
    get price() {
      return current.model.price;
    },
    get keySource() {
      return current.route.keySource;
    },
    current: () => current.model,
    isCostLimited: () => (start ?? { isCostLimited }).isCostLimited,
    startTurn(next) {
      start = next;
      used = undefined;
      accepted = undefined;
    },
    async *stream(request, signal) {
      const switched = start && (await chooseRoute(start, signal));
      start = undefined;
      if (switched !== undefined) yield switched;
      const tried = [...skipped];
      const failures: ModelFailure[] = [];
      const usedKeys: string[] = [];
      for (;;) {
        const { route, model, index } = current;
        usedKeys.push(route.keySource ?? "");
        const hasSpareKey =
          keysOf(route).length > 1 &&
          "route" in (await chain.findReady(route, { without: usedKeys }, signal));
        const retrying = withRetries(model, { ...options, hasSpareKey });
        let failure: ModelFailure | undefined;
        for await (const event of retrying.stream(request, signal)) {
          if (event.type === "failed") {
            ({ failure } = event);
            continue;
          }
          if (event.type === "request-sent") recordUse(current, signal);
          if (event.type === "message-end") await endCooldown(current, signal);
          yield event;
        }
        if (failure === undefined) return;
        await startCooldown(current, failure, signal);
        failures.push(failure);
        tried.push({ name: formatRoute(nameOf(route)), message: failure.message });
        // The next fallback may succeed where this one failed, for instance because this one's window is too small.
        const maySwitch = index > 0 ? failure.kind !== "aborted" : FAILURE_KINDS[failure.kind].fallsBack;
        const next =
          maySwitch && !signal.aborted && mayRepeat(failure, options.showsText)
            ? await findNext(failure, tried, usedKeys, signal)
            : undefined;
        if (next === undefined || signal.aborted) {
          yield { type: "failed", failure: maySwitch ? summarise(failures, tried) : failure };
          return;
        }
        yield { type: "attempt-failed", failure, retryInMs: 0 };
        if (next.index !== index) usedKeys.length = 0;
        current = next;
        yield {
          type: "route-switched",
          from: nameOf(route),
          to: nameOf(next.route),
          reason: failure.message,
        };
      }
    },
    async [Symbol.asyncDispose]() {
      await recording;
      states[Symbol.dispose]();
      await chain[Symbol.asyncDispose]();
    },
  };
}

const BACK_TO_PRIMARY = "Each new turn starts with the session's own model.";

function nameOf({ provider, model, keySource }: Route): RouteName {
  return { provider, model, keySource };
}

/** Requests that earlier versions stored have no key source; they count as made with the same key. */
function isSameRoute(from: RouteName, to: RouteName): boolean {
  const isSameKey = from.keySource === undefined || from.keySource === to.keySource;
  return from.provider === to.provider && from.model === to.model && isSameKey;
}

/** One failure that names everything that was tried. It has the kind of the first failure, which is that of the chosen model. */
function summarise(failures: readonly ModelFailure[], tried: readonly Tried[]): ModelFailure {
  const [first] = failures;
  const last = failures.at(-1);
  if (first === undefined || last === undefined) throw new Error("no request has failed");
  if (tried.length === 1) return first;
  const list = tried.map(({ name, message }, index) => `${index + 1}. ${name}: ${endSentence(message)}`);
  return {
    ...last,
    kind: first.kind,
    status: first.status,
    retryAfterMs: first.retryAfterMs,
    message: `No model answered. ${list.join(" ")}`,
    hint: `${first.hint} See the keys with \`hermes auth list\`, and test all with \`hermes doctor --online\`.`.trim(),
  };
}
