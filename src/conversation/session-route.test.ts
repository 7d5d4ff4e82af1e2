import { describe, expect, test } from "vitest";
import { storedSettings } from "../../test/support/route-settings.ts";
import { AppError } from "../lib/errors.ts";
import type { RouteRequest, RouteSettings } from "../providers/routes/choose-provider.ts";
import type { SessionModel } from "../sessions/session.ts";
import { findSessionRoute, type RunOverrides } from "./session-route.ts";

const A = "http://127.0.0.1:1/v1";
const B = "http://127.0.0.1:2/v1";
const C = "http://127.0.0.1:3/v1";
const NOTHING: RunOverrides = {
  model: undefined,
  provider: undefined,
  address: undefined,
  apiMode: undefined,
};
const providers = { one: { base_url: A, model: "m" }, two: { base_url: B, model: "n" } };

interface RouteSources {
  readonly settings: RouteSettings;
  readonly session?: Partial<SessionModel>;
  readonly overrides?: Partial<RunOverrides>;
  readonly model?: RouteRequest;
  readonly env?: Readonly<Record<string, string>>;
}

function find({ settings, session, overrides = {}, model = {}, env = {} }: RouteSources) {
  const stored = { provider: "one", model: "m", baseUrl: A, keepsAddress: false, apiMode: undefined };
  return findSessionRoute(
    { settings, model, overrides: { ...NOTHING, ...overrides } },
    session && { ...stored, ...session },
    (name) => env[name],
  );
}

/** Settings with an address given for this run. */
function withAddress(settings: RouteSettings, base_url: string): RouteSettings {
  const modelAddress = { ...settings.modelAddress, ofRun: base_url };
  return { ...settings, modelAddress, model: { ...settings.model, base_url } };
}

describe("a session keeps its server", () => {
  test("without a notice if the settings choose no model for new sessions", () => {
    const { route, notice } = find({ settings: storedSettings({}, providers), session: {} });
    expect(route).toMatchObject({ provider: "one", model: "m", baseUrl: A });
    expect(notice).toBeUndefined();
  });

  test("at the address of a flag, even if the settings name another address or none", () => {
    const settings = storedSettings({ base_url: B, default: "bmodel" });
    const started = find({
      settings: withAddress(settings, A),
      overrides: { address: "flag" },
      model: { model: "amodel" },
    });
    expect(started.sessionModel).toEqual({
      provider: "custom",
      model: "amodel",
      baseUrl: A,
      keepsAddress: true,
      apiMode: undefined,
    });
    const again = find({ settings, session: started.sessionModel });
    expect(again.route).toMatchObject({ model: "amodel", baseUrl: A });
    expect(again.sessionModel).toEqual(started.sessionModel);
    expect(again.notice).toBe(
      `This session continues with amodel at ${A}; new sessions start with bmodel at ${B}. Change it with --model.base_url.`,
    );
    expect(find({ settings: storedSettings(), session: started.sessionModel })).toMatchObject({
      route: { model: "amodel", baseUrl: A, provider: "custom" },
      notice: undefined,
    });
  });

  test("without the key of the settings, which is for another server", () => {
    const settings = storedSettings({ base_url: B, default: "b", api_key: "k" });
    const session = { provider: "custom", baseUrl: A, keepsAddress: true };
    expect(find({ settings, session }).route.key).toBeUndefined();
    expect(find({ settings, session: { ...session, baseUrl: B } }).route.key).toBe("k");
  });

  test("when the settings no longer name any address", () => {
    const session = { provider: "custom" };
    expect(find({ settings: storedSettings({ default: "x" }), session }).route).toMatchObject({
      model: "m",
      baseUrl: A,
    });
  });

  test("with its model when the same address is given again", () => {
    const settings = withAddress(storedSettings({ default: "other" }), `${A}/`);
    const { route, sessionModel, notice } = find({
      settings,
      session: { provider: "custom" },
      overrides: { address: "flag" },
    });
    expect(route).toMatchObject({ model: "m", baseUrl: A });
    expect(sessionModel.keepsAddress).toBe(true);
    expect(notice).toBeUndefined();
  });

  test("with its provider when only a model or the same provider is named", () => {
    const settings = storedSettings({ provider: "two" }, providers);
    const moved = { provider: "one", baseUrl: A };
    expect(find({ settings, session: {}, model: { model: "m2" } }).route).toMatchObject({
      ...moved,
      model: "m2",
    });
    expect(find({ settings, session: {}, overrides: { model: "m2" } }).route).toMatchObject({
      ...moved,
      model: "m2",
    });
    expect(find({ settings, session: {}, model: { model: "qwen3:8b" } }).route).toMatchObject({
      ...moved,
      model: "qwen3:8b",
    });
    const nameless = { one: { base_url: A } };
    for (const request of [{ model: { provider: "one" } }, { overrides: { provider: "one" } }])
      expect(find({ settings: storedSettings({}, nameless), session: {}, ...request }).route).toMatchObject({
        ...moved,
        model: "m",
      });
  });

  test("with the model name that answered, without resolving it as an alias again", () => {
    const settings = storedSettings({ provider: "one", aliases: { fast: "big", big: "huge" } }, providers);
    const started = find({ settings, model: { model: "fast" } });
    expect(started.sessionModel.model).toBe("big");
    expect(find({ settings, session: started.sessionModel }).route.model).toBe("big");
    expect(find({ settings, session: started.sessionModel, model: { model: "fast" } }).route.model).toBe(
      "big",
    );
  });

  test("in the requested wire format", () => {
    const settings = storedSettings({ provider: "one", default: "m" }, providers);
    const { model } = settings;
    const started = find({
      settings: { ...settings, model: { ...model, api_mode: "anthropic_messages" } },
      overrides: { apiMode: "anthropic_messages" },
    });
    expect(started.sessionModel.apiMode).toBe("anthropic_messages");
    expect(find({ settings, session: started.sessionModel }).route.apiMode).toBe("anthropic_messages");
    const changed = find({
      settings,
      session: started.sessionModel,
      overrides: { apiMode: "chat_completions" },
    });
    expect(changed).toMatchObject({
      route: { apiMode: "chat_completions" },
      sessionModel: { apiMode: "chat_completions" },
    });
    const fromSettings = find({
      settings: { ...settings, model: { ...model, api_mode: "anthropic_messages" } },
    });
    expect(find({ settings, session: fromSettings.sessionModel }).route.apiMode).toBe("chat_completions");
  });
});

describe("a session moves to another server with a notice", () => {
  test("when the user asks for another address or provider", () => {
    const settings = storedSettings({ base_url: B, default: "n" }, providers);
    const flag = find({ settings: withAddress(settings, C), session: {}, overrides: { address: "flag" } });
    expect(flag.route).toMatchObject({ provider: "custom", model: "n", baseUrl: C });
    expect(flag.notice).toBe(`This session continues with n at ${C} instead of m at ${A}.`);
    const named = find({ settings, session: {}, model: { model: "two:x" } });
    expect(named.route).toMatchObject({ provider: "two", model: "x", baseUrl: B });
    expect(named.notice).toBe(`This session continues with x at ${B} instead of m at ${A}.`);
    expect(named.sessionModel.keepsAddress).toBe(false);
  });

  test("to the address of a variable, unless its provider has an address of its own", () => {
    const settings = withAddress(storedSettings({ default: "n" }, providers), C);
    const overrides = { address: "variable" } as const;
    const custom = find({ settings, session: { provider: "custom", keepsAddress: true }, overrides });
    expect(custom.route).toMatchObject({ model: "n", baseUrl: C });
    expect(custom.notice).toContain(`continues with n at ${C}`);
    expect(find({ settings, session: {}, overrides }).route).toMatchObject({ provider: "one", baseUrl: A });
  });

  test("M6: to the address of a variable if its provider is named again", () => {
    const settings = withAddress(storedSettings({ default: "n" }, providers), C);
    const overrides = { address: "variable" } as const;
    for (const model of [{ provider: "one" }, { model: "one:m" }])
      expect(find({ settings, session: {}, overrides, model })).toMatchObject({
        route: { provider: "one", model: "m", baseUrl: C },
        sessionModel: { keepsAddress: true },
      });
  });

  test("when its address came from the settings and has changed there", () => {
    const session = { provider: "custom" };
    const { route, notice } = find({ settings: storedSettings({ base_url: B, default: "n" }), session });
    expect(route).toMatchObject({ model: "n", baseUrl: B });
    expect(notice).toBe(
      `The address of this session's model has changed in the settings: the session continues with n at ${B} instead of m at ${A}.`,
    );
  });

  test("when its server has moved, keeping its model", () => {
    const moved = { ...providers, one: { ...providers.one, base_url: C } };
    const { route, notice } = find({ settings: storedSettings({ provider: "one" }, moved), session: {} });
    expect(route).toMatchObject({ provider: "one", model: "m", baseUrl: C });
    expect(notice).toContain(`continues with m at ${C} instead of m at ${A}`);
  });

  test("when the settings no longer override its provider's own address", () => {
    const settings = storedSettings({ provider: "two", default: "n" }, providers);
    const { route, notice } = find({ settings, session: { provider: "two" } });
    expect(route).toMatchObject({ provider: "two", model: "m", baseUrl: B });
    expect(notice).toContain(`at ${B} instead of m at ${A}`);
  });
});

test("a session whose provider was removed is refused", () => {
  expect(() => find({ settings: storedSettings({ base_url: B, default: "n" }), session: {} })).toThrow(
    AppError,
  );
});
