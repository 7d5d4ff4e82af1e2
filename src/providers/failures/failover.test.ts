import { describe, expect, it } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { AppError } from "../../lib/errors.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { createKeyStates } from "../pool/key-states.ts";
import { fingerprintOf } from "../pool/pool-key.ts";
import { ask } from "../provider.contract.ts";
import { type FailureKind, type Model, type ModelEvent, type ModelFailure, NO_USAGE } from "../provider.ts";
import type { Route } from "../routes/resolve-route.ts";
import { type FailoverOptions, openFailover, type RouteSwitched, type TurnStart } from "./failover.ts";
import type { AttemptFailed } from "./with-retries.ts";

type Failing = Pick<ModelFailure, "kind"> & Partial<ModelFailure>;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function routeOf(provider: string, keys: readonly string[] = [], facts: Partial<Route> = {}): Route {
  const pool = keys.map((value) => ({ value, source: value.toUpperCase() }));
  return {
    provider,
    profile: "custom",
    model: "m",
    apiMode: "chat_completions",
    baseUrl: `https://${provider}.test/v1`,
    addressKey: "",
    keys: pool,
    key: pool[0]?.value,
    keySource: pool[0]?.source,
    keyHint: undefined,
    withheldKey: undefined,
    headers: {},
    requestOverrides: {},
    timeouts: { staleMs: 1, requestMs: 1 },
    connectTimeoutMs: undefined,
    caFile: undefined,
    verifiesTls: true,
    configured: { contextTokens: undefined, price: undefined },
    contextTokens: undefined,
    contextSource: "default",
    price: { input: 1, cacheRead: 0, cacheWrite: 1, output: 1 },
    ...facts,
  };
}

/** A model behind each route, which fails as listed under `provider` or `provider KEY` and then answers. */
async function openLab(
  failing: Readonly<Record<string, readonly (FailureKind | Failing)[]>>,
  { primary = routeOf("a"), fallbacks = [], ...options }: Partial<FailoverOptions> = {},
) {
  const folder = await tempFolder();
  const clock = new TurnableClock();
  const reports: string[] = [];
  const states = createKeyStates(folder.file("keys.sqlite"), { clock, report: (text) => reports.push(text) });
  const asked: string[] = [];
  const left = new Map(Object.entries(failing).map(([name, list]) => [name, [...list]]));
  const open = async (route: Route) => {
    const name = route.keySource === undefined ? route.provider : `${route.provider} ${route.keySource}`;
    const model: Model = {
      provider: route.provider,
      name: route.model,
      contextTokens: undefined,
      price: route.price,
      async *stream(): AsyncGenerator<ModelEvent> {
        asked.push(name);
        yield { type: "request-sent", prefix: [] };
        const next = left.get(name)?.shift();
        if (next === undefined) {
          const message = { role: "assistant", parts: [] } as const;
          yield { type: "message-end", message, finish: "stop", usage: NO_USAGE, droppedTools: [] };
        } else yield { type: "failed", failure: toFailure(route.provider, next) };
      },
    };
    return { model, http: { [Symbol.asyncDispose]: async () => undefined } as never };
  };
  const openModel = () =>
    openFailover({
      primary,
      fallbacks,
      strategies: {},
      states,
      clock,
      cooldownMs: HOUR,
      maxRetries: 2,
      showsText: false,
      random: () => 0,
      open,
      ...options,
    });
  let model = await openModel();
  return {
    folder,
    clock,
    states,
    asked,
    reports,
    failing: (name: string, kind: FailureKind) => void left.set(name, [kind]),
    /** Continues in another process of the same profile. */
    async restart() {
      model = await openModel();
    },
    async turn(start: Partial<TurnStart> = {}) {
      const from = asked.length;
      model.startTurn({ last: undefined, isCostLimited: false, ...start });
      const events: (ModelEvent | AttemptFailed | RouteSwitched)[] = [];
      let isDone = false;
      const collecting = (async () => {
        for await (const event of model.stream(ask("hi"), neverAborted)) events.push(event);
      })().finally(() => {
        isDone = true;
      });
      while (!isDone) await clock.advance(1_000);
      await collecting;
      const switches = events.flatMap((event) => (event.type === "route-switched" ? [event] : []));
      return { asked: asked.slice(from), switches, last: events.at(-1) };
    },
    [Symbol.asyncDispose]: async () => {
      await model[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function toFailure(provider: string, failing: FailureKind | Failing): ModelFailure {
  const facts = typeof failing === "string" ? { kind: failing } : failing;
  return {
    message: `${provider} failed: ${facts.kind}.`,
    hint: "",
    status: undefined,
    retryAfterMs: undefined,
    droppedTools: [],
    sawText: false,
    ...facts,
  };
}

const chain = (...routes: readonly Route[]) =>
  routes.map((route) => ({ name: `${route.provider}/${route.model}`, resolve: () => route }));

describe("A7: the action for each kind of failure, with two keys and a fallback", () => {
  const rows: readonly [Failing, readonly string[]][] = [
    [{ kind: "rate-limited", status: 429 }, ["a K1", "a K1", "a K2"]],
    [{ kind: "rate-limited", status: 429, retryAfterMs: 3_600_000 }, ["a K1", "a K2"]],
    [{ kind: "quota", status: 429 }, ["a K1", "a K2"]],
    [{ kind: "quota", status: 402 }, ["a K1", "a K2"]],
    [{ kind: "auth", status: 401 }, ["a K1", "a K2"]],
    [{ kind: "auth", status: 403 }, ["a K1", "a K2"]],
    [{ kind: "not-found", status: 404 }, ["a K1", "b"]],
    [{ kind: "unavailable", status: 503 }, ["a K1", "a K1", "a K1", "b"]],
    [{ kind: "unreachable" }, ["a K1", "a K1", "a K1", "b"]],
    [{ kind: "stalled" }, ["a K1", "a K1", "a K1", "b"]],
    [{ kind: "cut" }, ["a K1", "a K1", "a K1", "b"]],
    [{ kind: "malformed" }, ["a K1", "a K1", "a K1", "b"]],
    [{ kind: "empty" }, ["a K1", "a K1", "a K1", "b"]],
    [{ kind: "too-long" }, ["a K1"]],
    [{ kind: "refused", status: 400 }, ["a K1"]],
    [{ kind: "aborted" }, ["a K1"]],
  ];
  it.each(rows)("%o", async (failing, expected) => {
    await using lab = await openLab(
      { "a K1": [failing, failing, failing] },
      { primary: routeOf("a", ["k1", "k2"]), fallbacks: chain(routeOf("b")) },
    );
    expect((await lab.turn()).asked).toEqual(expected);
  });
});

describe("A7: key pools", () => {
  it("skips a key for as long as its error says, in every process; errors of one server never affect the keys of another", async () => {
    const limited = { kind: "rate-limited", status: 429 } as const;
    const cooldowns: readonly [readonly Failing[], number][] = [
      [[limited, limited], HOUR],
      [[{ kind: "quota", status: 402 }], 24 * HOUR],
      [[{ kind: "auth", status: 401 }], 5 * MINUTE],
      [[{ kind: "quota", status: 429, retryAfterMs: 3 * HOUR }], 3 * HOUR],
    ];
    for (const [failures, ms] of cooldowns) {
      await using lab = await openLab({ "a K1": failures }, { primary: routeOf("a", ["k1", "k2"]) });
      const { switches } = await lab.turn();
      expect(switches).toMatchObject([{ from: { keySource: "K1" }, to: { keySource: "K2" } }]);
      await lab.restart();
      expect((await lab.turn()).asked).toEqual(["a K2"]);
      expect((await lab.states.of("b.test", neverAborted)).size).toBe(0);
      await lab.clock.advance(ms - 10_000);
      expect((await lab.turn()).asked).toEqual(["a K2"]);
      await lab.clock.advance(10_000);
      expect((await lab.turn()).asked).toEqual(["a K1"]);
    }
  });

  it("uses the only key of a provider even while it cools down", async () => {
    await using lab = await openLab(
      { "a K1": ["auth"], b: [] },
      { primary: routeOf("a", ["k1"]), fallbacks: chain(routeOf("b")) },
    );
    expect((await lab.turn()).asked).toEqual(["a K1", "b"]);
    await lab.restart();
    const cooling = await lab.turn();
    expect(cooling.asked).toEqual(["b"]);
    expect(cooling.switches).toMatchObject([
      { reason: expect.stringMatching(/^a is not used until .* refused\.$/) },
    ]);
    await lab.clock.advance(5 * MINUTE);
    expect((await lab.turn()).asked).toEqual(["a K1"]);

    await using alone = await openLab({ "a K1": ["auth"] }, { primary: routeOf("a", ["k1"]) });
    expect((await alone.turn()).last).toMatchObject({
      type: "failed",
      failure: { message: "a failed: auth." },
    });
    await alone.restart();
    expect((await alone.turn()).asked).toEqual(["a K1"]);
  });

  it("M6: a refusal by a provider without a key does not stop another provider on the same host", async () => {
    const at = (provider: string) =>
      routeOf(provider, [], { baseUrl: `https://gateway.test/${provider}/v1` });
    await using lab = await openLab({ a: ["auth"] }, { primary: at("a"), fallbacks: chain(at("b")) });
    expect((await lab.turn()).asked).toEqual(["a", "b"]);
    await lab.restart();
    expect((await lab.turn()).asked).toEqual(["b"]);
  });

  it("tries the key that recovers first when all keys cool down", async () => {
    await using lab = await openLab(
      { "a K1": [{ kind: "quota", status: 402 }], "a K2": [{ kind: "auth", status: 401 }] },
      { primary: routeOf("a", ["k1", "k2"]) },
    );
    const { last } = await lab.turn();
    expect(last).toMatchObject({
      failure: {
        kind: "quota",
        message: "No model answered. 1. a/m (K1): a failed: quota. 2. a/m (K2): a failed: auth.",
      },
    });
    await lab.restart();
    expect((await lab.turn()).asked).toEqual(["a K2"]);
    expect(
      (await lab.states.of("a.test", neverAborted)).get(fingerprintOf("k2"))?.coolingUntil,
    ).toBeUndefined();
  });

  it("distributes new sessions by the strategy, and a session keeps its key", async () => {
    const primary = routeOf("a", ["k1", "k2", "k3"]);
    const rounds = async (strategy: "fill_first" | "round_robin" | "least_used" | "random", start = {}) => {
      await using lab = await openLab({}, { primary, strategies: { a: strategy }, random: () => 0.9 });
      for (let round = 0; round < 4; round++) {
        await lab.clock.advance(1_000);
        await lab.turn(start);
      }
      return lab.asked.join(" ");
    };
    expect(await rounds("fill_first")).toBe("a K1 a K1 a K1 a K1");
    expect(await rounds("round_robin")).toBe("a K1 a K2 a K3 a K1");
    expect(await rounds("least_used")).toBe("a K1 a K2 a K3 a K1");
    expect(await rounds("random")).toBe("a K3 a K3 a K3 a K3");
    const last = { provider: "a", model: "m", keySource: "K2" };
    expect(await rounds("round_robin", { last })).toBe("a K2 a K2 a K2 a K2");
  });

  it("works without its file, and reports that once", async () => {
    await using lab = await openLab({ "a K1": ["quota"] }, { primary: routeOf("a", ["k1", "k2"]) });
    const states = createKeyStates("/dev/null/keys.sqlite", {
      clock: lab.clock,
      report: (text) => lab.reports.push(text),
    });
    await using broken = await openLab(
      { "a K1": ["quota"] },
      { primary: routeOf("a", ["k1", "k2"]), states },
    );
    expect((await broken.turn()).asked).toEqual(["a K1", "a K2"]);
    expect(lab.reports).toHaveLength(1);
  });
});

describe("A7: fallback", () => {
  it("answers the rest of the turn, and the next turn starts with the primary model again", async () => {
    await using lab = await openLab({ a: ["not-found"] }, { fallbacks: chain(routeOf("b")) });
    const first = await lab.turn();
    expect(first.asked).toEqual(["a", "b"]);
    const last = first.switches[0]?.to;
    const second = await lab.turn({ last });
    expect(second.asked).toEqual(["a"]);
    expect(second.switches).toMatchObject([{ from: last, to: { provider: "a" } }]);
    expect((await lab.turn({ last: { provider: "a", model: "m", keySource: undefined } })).switches).toEqual(
      [],
    );
  });

  it("skips an entry that names the model of the session", async () => {
    const fallbacks = chain(routeOf("a"), routeOf("a", ["other"]), routeOf("b"));
    await using lab = await openLab({ a: ["not-found"], "a OTHER": ["auth"] }, { fallbacks });
    expect((await lab.turn()).asked).toEqual(["a", "a OTHER", "b"]);
    await using alone = await openLab({ a: ["not-found"] }, { fallbacks: chain(routeOf("a")) });
    expect((await alone.turn()).last).toMatchObject({ failure: { message: "a failed: not-found." } });
  });

  it("stays in use while the reset time of the primary server lies in the future", async () => {
    const busy = { kind: "unavailable", status: 503, retryAfterMs: HOUR } as const;
    await using lab = await openLab({ a: [busy] }, { fallbacks: chain(routeOf("b")) });
    const { switches } = await lab.turn();
    const second = await lab.turn({ last: switches[0]?.to });
    expect([second.asked, second.switches]).toEqual([["b"], []]);
    await lab.clock.advance(HOUR);
    expect((await lab.turn()).asked).toEqual(["a"]);

    await using down = await openLab({ a: [busy], b: [busy, "refused"] }, { fallbacks: chain(routeOf("b")) });
    await down.turn();
    await down.clock.advance(HOUR - MINUTE);
    expect((await down.turn()).asked).toEqual(["a"]); // all cool down, so the model of the session gets the request
  });

  it("if the fallback fails too, reports that the model of the session got no request", async () => {
    await using lab = await openLab({ a: ["auth"], b: [] }, { fallbacks: chain(routeOf("b")) });
    await lab.turn();
    lab.failing("b", "refused");
    expect((await lab.turn()).last).toMatchObject({
      failure: {
        message: expect.stringMatching(
          /^No model answered\. 1\. a\/m: is not used until .* 2\. b\/m: b failed: refused\.$/,
        ),
      },
    });
  });

  it("ends with one error that names everything that was tried, with the kind of the first failure", async () => {
    const keyless = {
      name: "c/m",
      resolve: (): Route => {
        throw new AppError("provider-key-missing", "There is no key for c.", { hint: "Add one." });
      },
    };
    await using lab = await openLab(
      { a: ["quota"], b: ["too-long"], d: ["refused"] },
      { fallbacks: [...chain(routeOf("b")), keyless, ...chain(routeOf("d"))] },
    );
    expect((await lab.turn()).last).toMatchObject({
      type: "failed",
      failure: {
        kind: "quota",
        message:
          "No model answered. 1. a/m: a failed: quota. 2. b/m: b failed: too-long. 3. c/m: There is no key for c. Add one. 4. d/m: d failed: refused.",
      },
    });
  });

  it("is not used if its price is unknown and the cost is limited, nor after the user has read a part of the answer", async () => {
    const unpriced = routeOf("b", [], { price: undefined });
    await using lab = await openLab({ a: ["quota"] }, { fallbacks: chain(unpriced, routeOf("c")) });
    expect((await lab.turn({ isCostLimited: true })).asked).toEqual(["a", "c"]);
    await using shown = await openLab(
      { a: [{ kind: "cut", sawText: true }] },
      { fallbacks: chain(routeOf("b")), showsText: true },
    );
    expect((await shown.turn()).asked).toEqual(["a"]);
  });
});
