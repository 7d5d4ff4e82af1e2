import { once } from "node:events";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { systemClock } from "../lib/time/clock.ts";
import { waitAtMost } from "../lib/time/wait-at-most.ts";
import type { ApiParts } from "./api-parts.ts";
import { createApiRoutes } from "./api-routes.ts";
import { STREAM_TIMES } from "./event-stream.ts";
import { createCallerFinder, requireStrongKey } from "./keys/api-keys.ts";
import { createKeyGate } from "./keys/key-gate.ts";
import { listen, SERVER_LIMITS } from "./listen.ts";
import { createMetrics } from "./metrics.ts";
import { createApiRuns } from "./runs/api-runs.ts";
import { openApiDatabase } from "./store/api-database.ts";

export interface ApiServerRequest extends Omit<ApiParts, "database" | "times"> {
  /** Path of the API's own database. */
  readonly databasePath: string;
  /** The key with every scope. */
  readonly mainKey: string;
  readonly times?: ApiParts["times"];
}

export interface ApiServer extends AsyncDisposable {
  /** The address that clients use, without a path. */
  readonly url: string;
}

/** Further connections are closed at once, so that idle clients cannot use up the file descriptors. */
const MAX_CONNECTIONS = 1_000;
const LAST_ANSWERS_WITHIN_MS = 2_000;

/**
 * Starts the API. Disposing accepts no further request, stores the ends of all runs and closes the connections. End the turns before
 * that, with `host.drain`.
 */
export async function startApiServer(request: ApiServerRequest, signal: AbortSignal): Promise<ApiServer> {
  const { databasePath, mainKey, times = STREAM_TIMES, options, onError, host } = request;
  requireStrongKey(mainKey);
  const database = await openApiDatabase(databasePath, { clock: systemClock }, signal);
  try {
    const parts: ApiParts = { ...request, database, times };
    const runs = createApiRuns(parts);
    await runs.settleInterrupted(signal);
    const metrics = createMetrics({
      activeTurns: () => host.active().length,
      activeRuns: runs.active,
      openConversations: host.openConversations,
    });
    const gate = createKeyGate(createApiRoutes(parts, runs, metrics), {
      findCaller: createCallerFinder(mainKey, database),
      metrics,
      corsOrigins: options.cors_origins.split(",").flatMap((origin) => origin.trim() || []),
      onError,
    });
    const server = createServer(
      SERVER_LIMITS,
      getRequestListener(gate.fetch, { overrideGlobalObjects: false }),
    );
    server.maxConnections = MAX_CONNECTIONS;
    const { url } = await listen(server, options, { taken: "api-port-taken", unbound: "api-unbound" });
    return {
      url,
      async [Symbol.asyncDispose]() {
        const closed = once(server, "close");
        server.close();
        await runs.allStored();
        server.closeIdleConnections();
        await waitAtMost(LAST_ANSWERS_WITHIN_MS, closed); // for the answers of the turns that have just ended
        server.closeAllConnections();
        database[Symbol.dispose]();
      },
    };
  } catch (error) {
    database[Symbol.dispose]();
    throw error;
  }
}
