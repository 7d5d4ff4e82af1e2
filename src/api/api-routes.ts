import type { ApiParts } from "./api-parts.ts";
import { bodyRoute, type Route, route } from "./api-route.ts";
import type { Metrics } from "./metrics.ts";
import { chatSchema, completeChat } from "./openai/chat-completions.ts";
import { createClientCalls } from "./openai/client-tools.ts";
import {
  createResponse,
  deleteResponse,
  findPreviousSession,
  readResponse,
  responseSchema,
} from "./openai/responses.ts";
import type { ApiRuns } from "./runs/api-runs.ts";
import { RUN_HEADER, SESSION_HEADER } from "./runs/run-headers.ts";
import { runRoutes } from "./runs/run-routes.ts";

const PUBLIC = { credential: "none" } as const;
const ANY = { credential: "key", scope: "any" } as const;
const CHAT = { credential: "key", scope: "chat" } as const;
const METRICS = { credential: "key", scope: "metrics" } as const;

/** Every route that programs call with a key. */
export function createApiRoutes(parts: ApiParts, runs: ApiRuns, metrics: Metrics): readonly Route[] {
  const chat = { runs, clientCalls: createClientCalls() };
  const routes: Route[] = [
    route(PUBLIC, "GET", "/health", () => Response.json({ status: "ok" })),
    route(PUBLIC, "GET", "/v1/health", () => Response.json({ status: "ok" })),
    route(ANY, "GET", "/v1/models", () => Response.json({ object: "list", data: listModels(parts) })),
    route(ANY, "GET", "/v1/capabilities", () => Response.json(describeCapabilities(parts, routes))),
    bodyRoute(CHAT, "/v1/chat/completions", chatSchema, (call) => completeChat(parts, chat, call)),
    bodyRoute(CHAT, "/v1/responses", responseSchema, (call) => createResponse(parts, chat, call)),
    route(CHAT, "GET", "/v1/responses/:id", (call) => readResponse(parts, call)),
    route(CHAT, "DELETE", "/v1/responses/:id", (call) => deleteResponse(parts, call)),
    ...runRoutes(parts, runs, ({ caller }, id) => findPreviousSession(parts, caller, id)),
    {
      ...route(METRICS, "GET", "/metrics", async () => {
        const { contentType, text } = await metrics.read();
        return new Response(text, { headers: { "content-type": contentType } });
      }),
      errors: "problem",
    },
  ];
  return routes;
}

function listModels({ modelName, options }: ApiParts) {
  const names = [modelName, ...Object.keys(options.model_routes)];
  return names.map((id) => ({ id, object: "model", created: 0, owned_by: "hermes" }));
}

function describeCapabilities({ version, modelName, options }: ApiParts, routes: readonly Route[]) {
  return {
    object: "hermes.capabilities",
    version,
    model: modelName,
    auth: { type: "bearer", header: "Authorization" },
    headers: { session_id: SESSION_HEADER, run_id: RUN_HEADER, on_disconnect: "X-Hermes-On-Disconnect" },
    features: {
      chat_completions: true,
      responses: true,
      runs: true,
      streaming: true,
      resume_streams: true,
      idempotency: true,
      server_tools: true,
      client_tools: true,
      images: true,
      approvals: true,
      steer: true,
    },
    limits: { max_concurrent_runs: options.max_concurrent_runs },
    endpoints: routes.map(({ method, path, scope }) => ({ method, path, scope: scope ?? null })),
  };
}
