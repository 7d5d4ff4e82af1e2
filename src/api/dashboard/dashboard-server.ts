import { once } from "node:events";
import { createServer } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import type { Clock } from "../../lib/time/clock.ts";
import { waitAtMost } from "../../lib/time/wait-at-most.ts";
import type { AccessMode } from "../access/access-mode.ts";
import type { Audit } from "../access/audit.ts";
import { createClientReader } from "../access/client.ts";
import { createOidcFlows } from "../access/oidc/oidc-flows.ts";
import { createRateLimit } from "../access/rate-limit.ts";
import type { SignInStore } from "../access/sign-in-store.ts";
import { listen, SERVER_LIMITS } from "../listen.ts";
import { type LiveTimes, openLive } from "../live/live.ts";
import type { LiveSource } from "../live/live-source.ts";
import type { DashboardOptions } from "../options.ts";
import { openTerminalSockets } from "../terminals/terminal-sockets.ts";
import { openTerminals } from "../terminals/terminals.ts";
import { ANYONE, createDashboardGate, findSignIn, SECURITY_HEADERS } from "./dashboard-gate.ts";
import type { DashboardData } from "./dashboard-parts.ts";
import { DASHBOARD_ROUTES } from "./dashboard-routes.ts";
import { openAppFiles } from "./static-files.ts";

export interface DashboardRequest {
  readonly options: DashboardOptions;
  /** The folder of the built app. */
  readonly appFolder: string;
  readonly data: DashboardData;
  readonly sources: readonly LiveSource[];
  readonly signIns: SignInStore;
  readonly version: string;
  readonly profile: string;
  readonly access: AccessMode;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly times?: LiveTimes;
  onError(error: unknown): void;
}

export interface DashboardServer extends AsyncDisposable {
  /** The address that people open, without a trailing slash. */
  readonly url: string;
  readonly port: number;
}

const LAST_ANSWERS_WITHIN_MS = 2_000;

/** Serves the dashboard. Disposing sends `bye` to all pages and closes the connections. */
export async function startDashboardServer(request: DashboardRequest): Promise<DashboardServer> {
  const { options, signIns, sources, version, profile, access, audit, clock, times, onError } = request;
  const live = openLive({
    ...{ sources, version, onError },
    ...(times !== undefined && { times }),
    isSignedIn: (id) => (access.isInsecure && id === ANYONE.id) || signIns.isSignedIn(id),
  });
  const publicUrl = options.public_url === "" ? undefined : new URL(options.public_url);
  const server = createServer(SERVER_LIMITS);
  const { port, url } = await listen(server, options, {
    taken: "dashboard-port-taken",
    unbound: "dashboard-unbound",
  });
  const readClient = createClientReader({
    ...{ host: options.host, port, publicUrl },
    allowedHosts: options.allowed_hosts,
    trustedProxies: options.trusted_proxies,
  });
  const terminals = openTerminals({
    start: (...given) => request.data.startTerminal(...given),
    clock,
    onError,
  });
  const sockets = openTerminalSockets({
    ...{ terminals, audit, readClient },
    isSignedIn: (id) => signIns.isSignedIn(id),
    findSignIn: (cookie, client) => findSignIn(cookie, client, { signIns, port })?.signIn,
  });
  const disconnect = (signIn: string): void => {
    live.disconnect(signIn);
    sockets.disconnect(signIn);
  };
  const gate = createDashboardGate(DASHBOARD_ROUTES, {
    parts: {
      ...{ data: request.data, signIns, live, version, profile, port, access, audit },
      ...{ terminals, disconnect },
      attempts: createRateLimit(() => clock.now()),
      oidcFlows: createOidcFlows(clock),
    },
    files: openAppFiles(request.appFolder),
    onError,
  });
  const answer = getRequestListener(
    (incoming, bindings) => {
      const env = bindings as HttpBindings; // this server speaks no HTTP/2
      const client = readClient(env.incoming);
      if (client !== undefined) return gate.fetch(incoming, { client, outgoing: env.outgoing });
      audit.write({
        action: "connect",
        outcome: "refused",
        address: env.incoming.socket.remoteAddress ?? "",
        detail: "host-foreign",
      });
      const problem = {
        code: "host-foreign",
        message: "This server does not answer to that host name.",
        hint: "Add the name to dashboard.allowed_hosts, or set dashboard.public_url.",
      };
      return Response.json(problem, {
        status: 400,
        headers: { ...SECURITY_HEADERS, "Cache-Control": "no-store" },
      });
    },
    { overrideGlobalObjects: false },
  );
  server.on("request", (incoming, outgoing) => void answer(incoming, outgoing));
  server.on("upgrade", sockets.upgrade);
  return {
    port,
    url: publicUrl?.href.replace(/\/+$/, "") ?? url,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      await live[Symbol.asyncDispose]();
      await terminals[Symbol.asyncDispose]();
      sockets[Symbol.dispose]();
      server.closeIdleConnections();
      await waitAtMost(LAST_ANSWERS_WITHIN_MS, closed);
      server.closeAllConnections();
    },
  };
}
