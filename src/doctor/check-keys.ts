import { findDefaultRoute, readRouteSettings } from "../app/conversation.ts";
import { listKeys, openAppKeyStates, testProviderKey } from "../app/provider-keys.ts";
import { resolveFallback } from "../conversation/fallback-routes.ts";
import { AppError } from "../lib/errors.ts";
import { formatTime } from "../lib/time/format-time.ts";
import { isCooling } from "../providers/pool/choose-key.ts";
import { proveRoute } from "../providers/routes/prove-route.ts";
import { type CheckInput, type Finding, finding, orFinding } from "./check.ts";

/** Checks the keys of the configured provider if it has several. With `online`, sends a request with each. */
export async function checkKeys({ app, online, signal }: CheckInput): Promise<Finding[]> {
  const problems: string[] = [];
  using states = openAppKeyStates(app, (problem) => problems.push(problem));
  const findings = await orFinding("keys", "note", async () => {
    const route = findDefaultRoute(app.resolved);
    if (route instanceof AppError || route.keys.length < 2) return [];
    const { provider } = route;
    const listed = await listKeys(app, states, provider, signal);
    if (!online) {
      const out = listed.filter(({ state }) => isCooling(state, Date.now()));
      const names = out.map(
        ({ key, state }) => `${key.source} until ${formatTime(state?.coolingUntil ?? 0)}`,
      );
      const detail = `${listed.length} keys for ${provider}`;
      if (names.length === 0) return [finding("keys", "ok", `${detail}, all ready`)];
      return [
        finding(
          "keys",
          "note",
          `${detail}; not used: ${names.join(", ")}`,
          "Try them now: `hermes auth test`.",
        ),
      ];
    }
    const results = [];
    for (const { key } of listed)
      results.push({ key, ...(await testProviderKey(app, states, { provider, key }, signal)) });
    const status = results.some(({ failure }) => failure === undefined) ? "warn" : "fail";
    return results.map(({ key, failure }) =>
      failure === undefined
        ? finding("keys", "ok", `${key.source}: accepted`)
        : finding("keys", status, `${key.source}: ${failure.message}`, failure.hint),
    );
  });
  return [
    ...findings,
    ...problems.map((problem) => finding("keys", "warn", problem, `Move ${app.profile.keysPath} aside.`)),
  ];
}

/** Checks that each entry of the fallback chain is usable. With `online`, sends a request to each. */
export async function checkFallbacks({ app, online, signal }: CheckInput): Promise<Finding[]> {
  const { resolved, variables } = app;
  const settings = { ...readRouteSettings(resolved), fallback_providers: resolved.config.fallback_providers };
  const check = async (index: number): Promise<Finding[]> => {
    const route = resolveFallback(settings, index, resolved.variable);
    const key = route.keySource === undefined ? "without a key" : `key from ${route.keySource}`;
    const detail = `${index + 1}. ${route.model} (${route.provider}), ${key}`;
    const failure = online ? (await proveRoute(route, variables, signal)).failure : undefined;
    if (failure !== undefined)
      return [finding("fallback", "warn", `${index + 1}. ${failure.message}`, failure.hint)];
    return [finding("fallback", "ok", online ? `${detail}; it answers` : detail)];
  };
  const checks = settings.fallback_providers.map((_, index) =>
    orFinding("fallback", "warn", () => check(index)),
  );
  return (await Promise.all(checks)).flat();
}
