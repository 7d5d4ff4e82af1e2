import { systemClock } from "../../lib/time/clock.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import { type ModelFailure, NO_USAGE, type Usage } from "../provider.ts";
import type { Route } from "./resolve-route.ts";
import { openRoute } from "./route-http.ts";

const ANSWER_WITHIN_MS = 60_000;

export interface TrialAnswer {
  /** Undefined if the request was accepted; the content of the answer does not matter. */
  readonly failure: ModelFailure | undefined;
  readonly usage: Usage;
}

/** Sends one short request, without retries. */
export async function proveRoute(
  route: Route,
  variables: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<TrialAnswer> {
  const { model, http } = await openRoute(route, variables, { clock: systemClock, cacheTtl: "5m" });
  await using _ = http;
  using deadline = openDeadline(signal, ANSWER_WITHIN_MS);
  const message = { role: "user", parts: [{ type: "text", text: "Answer with one word: ok" }] } as const;
  for await (const event of model.stream({ messages: [message], tools: [] }, deadline.signal)) {
    if (event.type === "message-end") return { failure: undefined, usage: event.usage };
    if (event.type !== "failed") continue;
    const { failure } = event;
    return { failure: failure.kind === "empty" ? undefined : failure, usage: failure.usage ?? NO_USAGE };
  }
  throw new Error("the stream of a model ended without its last event");
}
