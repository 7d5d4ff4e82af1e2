import { writeCookie } from "../../access/sign-in-cookie.ts";
import { ApiError } from "../../api-error.ts";
import { enterSchema, meSchema, signInSchema } from "../../contract/access.ts";
import { DASHBOARD_SCOPES } from "../../contract/scopes.ts";
import type { DashboardParts } from "../dashboard-parts.ts";
import { type DashboardCall, type DashboardRoute, dashboardRoute } from "../dashboard-route.ts";

/** Signing in and out. */
export const accessRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: "/api/me",
    scope: "none",
    summary: "Who is signed in, or how to sign in",
    answer: meSchema,
    handle({ signIn }, { access, version, profile }) {
      if (signIn === undefined) {
        const { ways, provider } = access;
        return { signedIn: false as const, ways: [...ways], ...(provider && { provider: provider.name }) };
      }
      const { id, name, scopes } = signIn;
      const insecure = access.isInsecure;
      return { signedIn: true as const, id, name, scopes: [...scopes], insecure, version, profile };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/enter",
    scope: "none",
    summary: "Sign in with a one-time link",
    body: enterSchema,
    async handle(call, parts) {
      requireAttempt(call, parts);
      const { access, signIns } = parts;
      const isTaken = access.ways.includes("link");
      const token = isTaken ? await signIns.useCode(call.body.code, "link", call.disconnected) : undefined;
      if (token !== undefined) return signedIn(call, parts, token, "link");
      throw new ApiError(
        401,
        "code_refused",
        "This link is not valid: it was used before, is older than ten minutes, or is from another server.",
        undefined,
        "Run `hermes dashboard link` for a new one.",
      );
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/sign-in",
    scope: "none",
    summary: "Sign in with a name and a password",
    body: signInSchema,
    async handle(call, parts) {
      requireAttempt(call, parts);
      const { access, signIns } = parts;
      const { name, password } = call.body;
      if (!(await access.account?.check(name, password)))
        throw new ApiError(401, "password_refused", "The name or the password is wrong.");
      return signedIn(call, parts, await signIns.add(name, DASHBOARD_SCOPES, call.disconnected), name);
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/sign-out",
    scope: "read",
    summary: "Sign this browser out",
    async handle({ signIn, client, disconnected }, parts) {
      const { signIns, disconnect, audit } = parts;
      if (signIn !== undefined) {
        await signIns.signOut(signIn.id, disconnected);
        disconnect(signIn.id);
        audit.write({ action: "sign-out", outcome: "done", login: signIn.name, address: client.address });
      }
      return new Response(null, { status: 204, headers: { "Set-Cookie": writeCookie("", client, parts) } });
    },
  }),
];

/** Throws if there were too many attempts to sign in from this address. */
export function requireAttempt({ client }: DashboardCall, { attempts }: DashboardParts): void {
  if (attempts.allows(client.address)) return;
  throw new ApiError(429, "attempts_spent", "Too many attempts; wait a minute.");
}

function signedIn({ client }: DashboardCall, parts: DashboardParts, token: string, login: string): Response {
  parts.audit.write({ action: "sign-in", outcome: "done", login, address: client.address });
  return new Response(null, { status: 204, headers: { "Set-Cookie": writeCookie(token, client, parts) } });
}
