import { systemClock } from "../../lib/clock.ts";
import { AppError } from "../../lib/errors.ts";
import { openModel } from "../../providers/open-model.ts";
import type { ModelFailure } from "../../providers/provider.ts";
import { type Route, resolveRoute } from "../../providers/resolve-route.ts";
import { createRouteHttp } from "../../providers/route-http.ts";
import type { CheckInput, Finding } from "./check.ts";

const ANSWER_WITHIN_MS = 60_000;

/** Whether a task would find a model; with `online` it is asked, which alone proves the key. */
export async function checkModel(input: CheckInput): Promise<Finding[]> {
  const { config, variable } = input.app.resolved;
  try {
    const route = resolveRoute(config, {}, variable);
    const key = route.keySource === undefined ? "without a key" : `key from ${route.keySource}`;
    const detail = `${route.model} (${route.provider}), ${key}`;
    if (!input.online) return [{ name: "model", status: "ok", detail, fix: "" }];
    const failure = await askOnce(route, input);
    if (failure === undefined)
      return [{ name: "model", status: "ok", detail: `${detail}; it answers`, fix: "" }];
    return [{ name: "model", status: "fail", detail: failure.message, fix: failure.hint }];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [{ name: "model", status: "fail", detail: error.message, fix: error.hint }];
  }
}

/** Sends one short request; undefined when it was accepted, whatever the answer was. */
async function askOnce(route: Route, { variables, signal }: CheckInput): Promise<ModelFailure | undefined> {
  await using http = createRouteHttp(route, variables);
  const model = await openModel(route, { http, clock: systemClock, cacheTtl: "5m" });
  const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
  const message = { role: "user", parts: [{ type: "text", text: "Answer with one word: ok" }] } as const;
  for await (const event of model.stream({ messages: [message], tools: [] }, within))
    if (event.type === "failed" && event.failure.kind !== "empty") return event.failure;
  return undefined;
}
