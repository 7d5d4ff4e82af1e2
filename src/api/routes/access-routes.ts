import { writeCookie } from "../access/cookie.ts";
import { ApiError } from "../api-error.ts";
import { enterSchema, meSchema } from "../contract/access.ts";
import { type DashboardRoute, dashboardRoute } from "../dashboard/dashboard-route.ts";

/** Signing in and out. */
export const accessRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: "/api/me",
    scope: "none",
    summary: "Who is signed in, or how to sign in",
    answer: meSchema,
    handle({ login }, { ways, version, profile, isInsecure }) {
      if (login === undefined) return { signedIn: false as const, ways: [...ways] };
      const { id, name, scopes } = login;
      return {
        signedIn: true as const,
        id,
        name,
        scopes: [...scopes],
        insecure: isInsecure,
        version,
        profile,
      };
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/enter",
    scope: "none",
    summary: "Sign in with a one-time link",
    body: enterSchema,
    async handle({ body, client, disconnected }, { attempts, logins, ways, port }) {
      if (!attempts.allows(client.address))
        throw new ApiError(429, "attempts_spent", "Too many attempts; wait a minute.");
      const token = ways.includes("link") ? await logins.useCode(body.code, "link", disconnected) : undefined;
      if (token === undefined)
        throw new ApiError(
          401,
          "code_refused",
          "This link does not sign in: it was used, is older than ten minutes, or is not from here.",
          undefined,
          "Run `hermes dashboard link` for a new one.",
        );
      return new Response(null, { status: 204, headers: { "Set-Cookie": writeCookie(token, client, port) } });
    },
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/sign-out",
    scope: "read",
    summary: "Sign this browser out",
    async handle({ login, client, disconnected }, { logins, live, port }) {
      if (login !== undefined) {
        await logins.signOut(login.id, disconnected);
        live.disconnect(login.id);
      }
      return new Response(null, { status: 204, headers: { "Set-Cookie": writeCookie("", client, port) } });
    },
  }),
];
