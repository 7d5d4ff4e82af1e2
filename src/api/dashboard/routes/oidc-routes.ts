import { z } from "zod";
import type { OidcFlow, OidcFlows } from "../../access/oidc/oidc-flows.ts";
import { OidcError, type OidcProblem, type OidcProvider } from "../../access/oidc/oidc-provider.ts";
import {
  clearFlowCookie,
  readFlowCookie,
  writeCookie,
  writeFlowCookie,
} from "../../access/sign-in-cookie.ts";
import { ApiError } from "../../api-error.ts";
import { oidcStartAnswerSchema, oidcStartSchema } from "../../contract/access.ts";
import { DASHBOARD_SCOPES } from "../../contract/scopes.ts";
import type { DashboardParts } from "../dashboard-parts.ts";
import { type DashboardCall, type DashboardRoute, dashboardRoute } from "../dashboard-route.ts";
import { requireAttempt } from "./access-routes.ts";

/** Signing in with an OpenID Connect provider. */
export const oidcRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "POST",
    path: "/api/oidc/start",
    scope: "none",
    summary: "Start to sign in with the OpenID Connect provider",
    body: oidcStartSchema,
    answer: oidcStartAnswerSchema,
    async handle(call, parts) {
      const { provider, flows } = requireOidc(parts);
      requireAttempt(call, parts);
      const { client, body, disconnected } = call;
      try {
        const redirectUri = `${client.origin}${client.prefix}/api/oidc/back`;
        const { url, secrets } = await provider.start(redirectUri, disconnected);
        const id = flows.add({ secrets, next: body.next });
        const headers = { "Set-Cookie": writeFlowCookie(id, client, parts.port) };
        return Response.json({ url: url.href }, { headers });
      } catch (error) {
        if (!(error instanceof OidcError)) throw error;
        throw new ApiError(
          503,
          "provider_unreachable",
          `The sign-in provider cannot be used now: ${error.message}.`,
          undefined,
          "Try again later. Browsers that are signed in stay signed in.",
        );
      }
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/oidc/back",
    scope: "none",
    summary: "Where the OpenID Connect provider sends a browser back to",
    query: z.record(z.string(), z.string().max(10_000)),
    async handle(call, parts) {
      const { provider, flows } = requireOidc(parts);
      const { client, query, headers, disconnected } = call;
      const { audit, signIns, port } = parts;
      const flow = readFlowCookie(headers.get("Cookie"), client, port)
        .map((id) => flows.take(id))
        .find((found) => found !== undefined);
      try {
        if (flow === undefined) throw new OidcError("expired", "this browser has not started a sign-in");
        const answer = new URLSearchParams(query);
        const { name } = await provider.finish(answer, flow.secrets, disconnected);
        const token = await signIns.add(name, DASHBOARD_SCOPES, disconnected);
        audit.write({
          action: "sign-in",
          outcome: "done",
          login: name,
          address: client.address,
          detail: "oidc",
        });
        const target = `${client.prefix}${toOwnPath(flow)}`;
        return leave(302, target, [clearFlowCookie(client, port), writeCookie(token, client, parts)]);
      } catch (error) {
        if (!(error instanceof OidcError)) throw error;
        const { problem, message } = error;
        audit.write({
          ...{ action: "sign-in", outcome: "refused", address: client.address },
          detail: `oidc ${problem}: ${message}`,
        });
        return answerProblem(problem, call, parts);
      }
    },
  }),
];

interface Oidc {
  readonly provider: OidcProvider;
  readonly flows: OidcFlows;
}

function requireOidc({ access, oidcFlows }: DashboardParts): Oidc {
  if (access.provider === undefined)
    throw new ApiError(404, "provider_missing", "This dashboard has no sign-in provider.");
  return { provider: access.provider, flows: oidcFlows };
}

/** Sends the browser to the sign-in page, which says what happened. */
function answerProblem(problem: OidcProblem, { client }: DashboardCall, { port }: DashboardParts): Response {
  const target = `${client.prefix}/?sign-in-problem=${problem}`;
  const cookies = [clearFlowCookie(client, port)];
  if (problem !== "unreachable") return leave(302, target, cookies);
  const headers = new Headers({ "Content-Type": "text/html; charset=utf-8", "Retry-After": "30" });
  for (const cookie of cookies) headers.append("Set-Cookie", cookie);
  const page = `<!doctype html><meta http-equiv="refresh" content="0;url=${target}"><a href="${target}">Hermes</a>`;
  return new Response(page, { status: 503, headers });
}

function leave(status: 302, target: string, cookies: readonly string[]): Response {
  const headers = new Headers({ Location: target });
  for (const cookie of cookies) headers.append("Set-Cookie", cookie);
  return new Response(null, { status, headers });
}

/** A path of this server; anything else becomes the first page. */
function toOwnPath({ next }: OidcFlow): string {
  const base = "http://own.invalid";
  if (!/^\/(?![/\\])/.test(next) || !URL.canParse(next, base)) return "/";
  const { origin, pathname, search } = new URL(next, base);
  return origin === base && !pathname.startsWith("//") && !pathname.startsWith("/api/")
    ? `${pathname}${search}`
    : "/";
}
