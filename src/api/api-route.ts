import type { z } from "zod";
import type { Caller, Scope } from "./keys/caller.ts";

/** A request that has passed the gate: its caller is known, and its body fits the schema of the row. */
export interface ApiCall<Body = unknown> {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly headers: Headers;
  readonly body: Body;
  /** Aborts when the client disconnects. */
  readonly disconnected: AbortSignal;
  /** Cuts the connection. */
  disconnect(): void;
}

interface RouteFacts {
  readonly method: "GET" | "POST" | "DELETE";
  /** In the syntax of hono: `/v1/runs/:id`. */
  readonly path: string;
  /** The shape of its errors: OpenAI's, or problem JSON `{code, message, hint}`. */
  readonly errors: "openai" | "problem";
}

/** `none`: public. `key`: a bearer key. `any` is for a row that every key may call. */
type Access =
  | { readonly credential: "none"; readonly scope?: undefined }
  | { readonly credential: "key"; readonly scope: Scope | "any" };

/** One row of the table of routes. A row without a credential, or with a key and no scope, does not compile. */
export type Route = RouteFacts &
  Access & {
    readonly body: z.ZodType | undefined;
    handle(call: ApiCall): Promise<Response>;
  };

/** A row without a body. */
export function route(
  access: Access,
  method: "GET" | "POST" | "DELETE",
  path: string,
  handle: (call: ApiCall) => Promise<Response> | Response,
): Route {
  return { ...access, method, path, errors: "openai", body: undefined, handle: async (call) => handle(call) };
}

/** A row whose JSON body is checked by a schema before it is handled. */
export function bodyRoute<Body>(
  access: Access,
  path: string,
  body: z.ZodType<Body>,
  handle: (call: ApiCall<Body>) => Promise<Response>,
): Route {
  return {
    ...access,
    method: "POST",
    path,
    errors: "openai",
    body,
    handle: (call) => handle(call as ApiCall<Body>), // the gate has parsed the body with the schema of the row
  };
}
