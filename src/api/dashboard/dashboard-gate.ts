import type { ServerResponse } from "node:http";
import { type Context, Hono } from "hono";
import { getPath } from "hono/utils/url";
import type { Client } from "../access/client.ts";
import { readCookies, writeCookie } from "../access/sign-in-cookie.ts";
import type { SignIn } from "../access/sign-in-store.ts";
import { ApiError, errorBody, toApiError } from "../api-error.ts";
import { DASHBOARD_SCOPES } from "../contract/scopes.ts";
import { parseBody, readFileBody, requireShape } from "../request-body.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { type DashboardRoute, LIVE_PATH } from "./dashboard-route.ts";
import type { AppFiles } from "./static-files.ts";

export interface DashboardGateParts {
  readonly parts: DashboardParts;
  readonly files: AppFiles;
  /** Reports an error that no client caused. */
  onError(error: unknown): void;
}

const SCOPES: ReadonlySet<unknown> = new Set(["none", ...DASHBOARD_SCOPES]);

interface Env {
  readonly Bindings: { readonly client: Client; readonly outgoing: ServerResponse };
}

/** Allows scripts only from our own files, and no string as markup. Inline styles are allowed because the terminal sets some. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": CONTENT_POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/**
 * Serves the rows of the table and the files of the app, and nothing else. The checks, in this order: origin, header,
 * sign-in, scope, query, body. The host was checked earlier.
 */
export function createDashboardGate(routes: readonly DashboardRoute[], gate: DashboardGateParts): Hono<Env> {
  const app = new Hono<Env>({
    getPath: (request, options) => {
      const path = getPath(request);
      const prefix = (options?.env as Env["Bindings"] | undefined)?.client.prefix ?? "";
      return prefix !== "" && `${path}/`.startsWith(`${prefix}/`) ? path.slice(prefix.length) || "/" : path;
    },
  });
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) context.header(name, value);
    if (!context.res.headers.has("Cache-Control")) context.header("Cache-Control", "no-store");
  });
  for (const row of routes) {
    if (!row.path.startsWith("/api/") && row.path !== LIVE_PATH)
      throw new Error(`${row.path} is not below /api`);
    if (!SCOPES.has(row.scope)) throw new Error(`${row.method} ${row.path} has no scope`);
    app.on(row.method, row.path, (context) => handle(context, row, gate));
  }
  app.all("/api/*", (context) => refuseUnknown(context, gate));
  app.get("*", async (context) => {
    const { path } = context.req;
    return await gate.files.answer(path, context.env.client, context.req.raw.headers);
  });
  app.notFound((context) => refuseUnknown(context, gate));
  app.onError((error, context) => answerError(context, error, gate));
  return app;
}

async function handle(
  context: Context<Env>,
  row: DashboardRoute,
  gate: DashboardGateParts,
): Promise<Response> {
  const { client } = context.env;
  const request = context.req.raw;
  const { audit } = gate.parts;
  const action = `${row.method} ${row.path}`;
  let signInName: string | undefined;
  let detail: string | undefined;
  try {
    requireOwnPage(request, client);
    const found =
      row.scope === "none" ? findLogin(request, client, gate) : requireLogin(request, client, gate);
    signInName = found?.signIn.name;
    if (row.scope !== "none" && found !== undefined) requireScope(found.signIn, row.scope);
    const query = row.query && requireShape(row.query, context.req.query(), "The query");
    const response = await row.handle(
      {
        signIn: found?.signIn,
        client,
        params: context.req.param() as Record<string, string>,
        query,
        body: await readBody(request, row),
        headers: request.headers,
        disconnected: request.signal,
        cut: () => context.env.outgoing.destroy(),
        audited: (names) => {
          detail = names;
        },
      },
      gate.parts,
    );
    if (found !== undefined) await renewLogin(found, client, response, gate);
    if (isAudited(row) && response.ok)
      audit.write({
        action,
        outcome: "done",
        login: signInName,
        address: client.address,
        route: context.req.path,
        ...(detail !== undefined && { detail }),
      });
    return response;
  } catch (thrown) {
    const error = toApiError(thrown);
    if (REFUSALS.has(error.status))
      audit.write({
        ...{ action, outcome: "refused", login: signInName },
        address: client.address,
        detail: error.code.replaceAll("_", "-"),
      });
    return answerError(context, thrown, gate);
  }
}

/** The statuses of refusals: signed out, not allowed or from a foreign page, too many attempts. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Changes outside the board and the sessions, and every permanent removal. */
function isAudited({ method, scope }: DashboardRoute): boolean {
  return method === "DELETE" || (method !== "GET" && (scope === "shell" || scope === "admin"));
}

async function readBody(request: Request, { body, maxFileBytes }: DashboardRoute): Promise<unknown> {
  if (maxFileBytes !== undefined) return await readFileBody(request, maxFileBytes);
  return body === undefined ? undefined : await parseBody(request, body);
}

/** Refuses requests that a foreign page could send with the cookies of this browser. */
function requireOwnPage({ method, headers }: Request, client: Client): void {
  const isWrite = method !== "GET" && method !== "HEAD";
  if (!client.isOwnPage && (isWrite || headers.has("Origin")))
    throw new ApiError(403, "origin_foreign", "Another web page has sent this request.");
  if (isWrite && headers.get("X-Hermes") !== "1")
    throw new ApiError(
      415,
      "header_missing",
      "A request that changes something needs the header `X-Hermes: 1`.",
    );
}

/** The sign-in of everybody while the gate is off. Strangers may only read, because a task or a message is a command. */
export const ANYONE: SignIn = { id: "anyone", name: "anyone", scopes: ["read"] };

interface FoundLogin {
  readonly signIn: SignIn;
  /** The cookie; undefined while the gate is off. */
  readonly token: string | undefined;
}

/** Finds the sign-in that a `Cookie` header names. */
export function findSignIn(
  header: string | null,
  client: Client,
  { signIns, port }: Pick<DashboardParts, "signIns" | "port">,
): { readonly signIn: SignIn; readonly token: string } | undefined {
  for (const token of readCookies(header, client, port)) {
    const signIn = signIns.find(token);
    if (signIn !== undefined) return { signIn, token };
  }
  return undefined;
}

function findLogin(request: Request, client: Client, { parts }: DashboardGateParts): FoundLogin | undefined {
  const found = findSignIn(request.headers.get("Cookie"), client, parts);
  if (found !== undefined) return found;
  return parts.access.isInsecure ? { signIn: ANYONE, token: undefined } : undefined;
}

function requireLogin(request: Request, client: Client, gate: DashboardGateParts): FoundLogin {
  const found = findLogin(request, client, gate);
  if (found !== undefined) return found;
  throw new ApiError(401, "signed_out", "This browser is not signed in.");
}

function requireScope({ scopes }: SignIn, scope: SignIn["scopes"][number]): void {
  if (scopes.includes(scope)) return;
  throw new ApiError(
    403,
    "scope_missing",
    `This needs the scope ${scope}, and this sign-in has ${scopes.join(", ")}.`,
  );
}

/** Extends a sign-in that is in use. */
async function renewLogin(
  { token }: FoundLogin,
  client: Client,
  response: Response,
  { parts, onError }: DashboardGateParts,
): Promise<void> {
  if (token === undefined || response.headers.has("Set-Cookie")) return;
  try {
    const isRenewed = await parts.signIns.renew(token, AbortSignal.timeout(1_000));
    if (isRenewed) response.headers.append("Set-Cookie", writeCookie(token, client, parts));
  } catch (error) {
    onError(error); // for instance a full disk, which must not end the sign-in
  }
}

function refuseUnknown(context: Context<Env>, gate: DashboardGateParts): Response {
  try {
    requireLogin(context.req.raw, context.env.client, gate);
    const { method, path } = context.req;
    throw new ApiError(404, "route_not_found", `There is no ${method} ${path}.`);
  } catch (error) {
    return answerError(context, error, gate);
  }
}

function answerError(context: Context<Env>, thrown: unknown, { onError }: DashboardGateParts): Response {
  const error = toApiError(thrown);
  if (error.status >= 500 && !(thrown instanceof ApiError)) onError(thrown);
  if (error.status === 429) context.header("Retry-After", "60");
  return context.json(errorBody(error, "problem"), error.status);
}
