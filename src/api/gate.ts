import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { ApiError, errorBody, toApiError } from "./api-error.ts";
import type { FindCaller } from "./keys.ts";
import type { Metrics } from "./metrics.ts";
import { parseBody } from "./request-body.ts";
import type { Route } from "./route.ts";
import type { Caller } from "./scope.ts";

export interface GateParts {
  readonly findCaller: FindCaller;
  readonly metrics: Pick<Metrics, "countRequest">;
  /** Origins of web pages that may call the API. */
  readonly corsOrigins: readonly string[];
  /** Reports an error that no client caused. */
  onError(error: unknown): void;
}

const ANONYMOUS: Caller = { id: "", name: "", scopes: [] };

/**
 * Serves only the rows of the table; a request that fits no row is refused like one without a key. Before its handler, every request
 * is checked for key, scope, size and body, in this order.
 */
export function createGate(routes: readonly Route[], parts: GateParts): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    context.header("X-Content-Type-Options", "nosniff");
    context.header("Referrer-Policy", "no-referrer");
    context.header("Cache-Control", "no-store");
  });
  if (parts.corsOrigins.length > 0)
    app.use(
      cors({
        origin: [...parts.corsOrigins],
        maxAge: 600,
        allowHeaders: [
          ...["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
          ...["X-Hermes-Session-Id", "X-Hermes-On-Disconnect"],
        ],
        exposeHeaders: ["X-Hermes-Session-Id", "X-Hermes-Run-Id", "Idempotency-Replayed"],
      }),
    );
  for (const row of routes) app.on(row.method, row.path, (context) => handle(context, row, parts));
  app.notFound((context) => {
    try {
      requireKey(context, parts);
    } catch (error) {
      return answerError(context, error, "openai", parts);
    }
    const { method, path } = context.req;
    return answerError(
      context,
      new ApiError(404, "route_not_found", `There is no ${method} ${path}.`),
      "openai",
      parts,
    );
  });
  app.onError((error, context) => answerError(context, error, "openai", parts));
  return app;
}

async function handle(context: Context, row: Route, parts: GateParts): Promise<Response> {
  try {
    const caller = row.credential === "none" ? ANONYMOUS : requireCaller(context, row, parts);
    const response = await row.handle({
      caller,
      params: context.req.param() as Record<string, string>,
      headers: context.req.raw.headers,
      body: row.body === undefined ? undefined : await parseBody(context.req.raw, row.body),
      disconnected: context.req.raw.signal,
      disconnect: () => (context.env as HttpBindings).outgoing.destroy(),
    });
    parts.metrics.countRequest(row.method, row.path, response.status);
    return response;
  } catch (error) {
    return answerError(context, error, row.errors, parts);
  }
}

function requireCaller(context: Context, row: Route, parts: GateParts): Caller {
  const caller = requireKey(context, parts);
  const { scope } = row;
  if (scope === "any" || caller.scopes.some((has) => has === scope)) return caller;
  throw new ApiError(403, "scope_missing", `The key ${caller.name} has no scope ${scope}.`);
}

function requireKey(context: Context, { findCaller }: GateParts): Caller {
  const token = /^Bearer +(?<token>\S+)$/i.exec(context.req.header("Authorization") ?? "")?.groups?.["token"];
  const caller = token === undefined ? undefined : findCaller(token);
  if (caller !== undefined) return caller;
  throw new ApiError(
    401,
    "invalid_api_key",
    token === undefined
      ? "Send the key of the API as `Authorization: Bearer KEY`."
      : "This key is not known.",
  );
}

function answerError(context: Context, thrown: unknown, shape: Route["errors"], parts: GateParts): Response {
  const error = toApiError(thrown);
  if (error.status >= 500 && !(thrown instanceof ApiError)) parts.onError(thrown);
  parts.metrics.countRequest(context.req.method, context.req.routePath, error.status);
  if (error.status === 401) context.header("WWW-Authenticate", "Bearer");
  if (error.status === 429) context.header("Retry-After", "5");
  return context.json(errorBody(error, shape), error.status);
}
