import type { z } from "zod";
import type { Client } from "../access/client.ts";
import type { SignIn } from "../access/sign-in-store.ts";
import type { DashboardScope } from "../contract/scopes.ts";
import type { DashboardParts } from "./dashboard-parts.ts";

/** For supervisors, whose requests have neither a prefix nor credentials. */
export const LIVE_PATH = "/health/live";

/** A request that has passed the gate: it is allowed, and its query and body match the schemas of the route. */
export interface DashboardCall<Query = unknown, Body = unknown> {
  /** The sign-in of the sender; undefined only in a route whose scope is `none`. */
  readonly signIn: SignIn | undefined;
  readonly client: Client;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly headers: Headers;
  /** Aborts when the client disconnects. */
  readonly disconnected: AbortSignal;
  /** Cuts the connection of a client that does not read its answer. */
  cut(): void;
  /** Adds the names of what was changed to the line of the audit log. */
  audited(detail: string): void;
}

/** A route that browsers call, with a cookie instead of a key. Its errors are problem JSON. */
export interface DashboardRoute {
  readonly credential: "cookie";
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Begins with `/api/` or is `LIVE_PATH`, in the syntax of hono: `/api/boards/:board`. */
  readonly path: string;
  /** The scope that the sign-in must have. `none`: open to everybody, signed in or not. */
  readonly scope: DashboardScope | "none";
  /** What the route does, in one line. */
  readonly summary: string;
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
  /** The body is a file of at most this size instead of JSON. */
  readonly maxFileBytes: number | undefined;
  readonly answer: z.ZodType | undefined;
  handle(call: DashboardCall, parts: DashboardParts): Promise<Response>;
}

interface RowInput<Query, Body, Answer> {
  readonly method: DashboardRoute["method"];
  readonly path: `/api/${string}` | typeof LIVE_PATH;
  readonly scope: DashboardRoute["scope"];
  readonly summary: string;
  readonly query?: z.ZodType<Query>;
  /** The schema of a JSON body. */
  readonly body?: z.ZodType<Body>;
  /** The body is a file (`application/octet-stream`), handed over as bytes. */
  readonly maxFileBytes?: number;
  readonly answer?: z.ZodType<Answer>;
  /** Status of an answer that is not a `Response`; 200, and 204 for none. */
  readonly status?: 200 | 201 | 202;
  /** Returns the answer as a value, nothing, or a `Response` if the answer is not JSON. */
  handle(
    call: DashboardCall<Query, Body>,
    parts: DashboardParts,
  ): Promise<Answer | Response | undefined> | Answer | Response | undefined;
}

/** Creates a row of the table. The handler must return what the schema of the answer describes. */
export function dashboardRoute<Query = undefined, Body = undefined, Answer = undefined>(
  row: RowInput<Query, Body, Answer>,
): DashboardRoute {
  const { method, path, scope, summary, query, body, answer, status = 200, maxFileBytes } = row;
  return {
    credential: "cookie",
    ...{ method, path, scope, summary, query, body, answer, maxFileBytes },
    async handle(call, parts) {
      // The gate has parsed query and body with these schemas.
      const result = await row.handle(call as DashboardCall<Query, Body>, parts);
      if (result instanceof Response) return result;
      return result === undefined ? new Response(null, { status: 204 }) : Response.json(result, { status });
    },
  };
}
