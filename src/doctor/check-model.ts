import { readRouteSettings } from "../app/conversation.ts";
import { proveRoute } from "../providers/routes/prove-route.ts";
import { resolveRoute } from "../providers/routes/resolve-route.ts";
import { type CheckInput, type Finding, finding, orFinding } from "./check.ts";

/** Checks that a model is configured. With `online`, sends it a request, because only that tests the key. */
export async function checkModel(input: CheckInput): Promise<Finding[]> {
  const { resolved } = input.app;
  return orFinding("model", "fail", async () => {
    const route = resolveRoute(readRouteSettings(resolved), {}, resolved.variable);
    const key =
      route.withheldKey !== undefined
        ? `without a key: ${route.withheldKey} is not for ${route.baseUrl}`
        : route.keySource === undefined
          ? "without a key"
          : `key from ${route.keySource}`;
    const detail = `${route.model} (${route.provider}), ${key}`;
    const fix = route.withheldKey === undefined ? "" : (route.keyHint ?? "");
    // Several keys are tested by `checkKeys`.
    if (!input.online || route.keys.length > 1)
      return [finding("model", fix === "" ? "ok" : "note", detail, fix)];
    const { failure } = await proveRoute(route, input.app.variables, input.signal);
    if (failure === undefined) return [finding("model", "ok", `${detail}; it answers`)];
    return [finding("model", "fail", failure.message, failure.hint)];
  });
}
