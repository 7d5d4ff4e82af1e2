import { words } from "../words/words.ts";
import { Problem, problemOf } from "./problem.ts";

type Method = "POST" | "PUT" | "PATCH" | "DELETE";

export interface SendOptions {
  /** The version that was edited; the server refuses the change if there is a newer one. */
  readonly ifMatch?: string;
  /** The same for each attempt to create one thing, so that a repeated request creates it once. */
  readonly idempotencyKey?: string;
  /** A file; sent as it is. */
  readonly file?: Blob;
  readonly signal?: AbortSignal;
}

/** The routes below `api/`. Every call throws a `Problem`. */
export interface Api {
  get<Answer>(path: string, signal?: AbortSignal): Promise<Answer>;
  send<Answer = undefined>(
    method: Method,
    path: string,
    body?: unknown,
    options?: SendOptions,
  ): Promise<Answer>;
  /** The URL of a route, for links and the stream. */
  url(path: string): URL;
}

export interface ApiEvents {
  /** Called for a 401: the sign-in of this browser has ended. */
  onSignedOut(): void;
  /** Whether the connection is lost. Changes are then refused without a request. */
  isLost(): boolean;
}

export function createApi({ onSignedOut, isLost }: ApiEvents): Api {
  const url = (path: string): URL => new URL(`api/${path}`, document.baseURI);

  async function call<Answer>(path: string, request: RequestInit): Promise<Answer> {
    const response = await fetch(url(path), { ...request, credentials: "same-origin" }).catch(
      (error: unknown) => {
        if (error instanceof DOMException && error.name === "AbortError") throw error;
        throw new Problem("unreachable", words.problems.unreachable);
      },
    );
    if (response.status === 401 && !SIGN_IN.has(path)) onSignedOut();
    if (!response.ok) throw await problemOf(response);
    const text = await response.text();
    return (text === "" ? undefined : JSON.parse(text)) as Answer; // the contract says which route answers what
  }

  return {
    url,
    get: (path, signal) => call(path, signal ? { signal } : {}),
    async send(method, path, body, { ifMatch, idempotencyKey, file, signal } = {}) {
      if (isLost() && !SIGN_IN.has(path)) throw new Problem("lost", words.problems.lost);
      const headers = new Headers({ "X-Hermes": "1" });
      if (file !== undefined) headers.set("Content-Type", "application/octet-stream");
      else if (body !== undefined) headers.set("Content-Type", "application/json");
      if (ifMatch !== undefined) headers.set("If-Match", ifMatch);
      if (idempotencyKey !== undefined) headers.set("Idempotency-Key", idempotencyKey);
      return call(path, {
        method,
        headers,
        ...(file !== undefined ? { body: file } : body !== undefined ? { body: JSON.stringify(body) } : {}),
        ...(signal ? { signal } : {}),
      });
    },
  };
}

/** For these routes a 401 means a wrong code or password, not an ended sign-in. */
const SIGN_IN: ReadonlySet<string> = new Set(["enter", "sign-in"]);
