import { AppError } from "../../lib/errors.ts";
import type { HttpClient } from "../../lib/http/http-client.ts";
import { openDeadline } from "../../lib/time/deadline.ts";

const MAX_BYTES = 16 * 1024 * 1024;

export interface JsonRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON by POST; without it, the request is a GET. */
  readonly body?: unknown;
  readonly withinMs: number;
}

/** Fetches JSON of limited size in limited time. Any other outcome is `models-unlisted`, with the reason. */
export async function fetchJson(
  http: HttpClient,
  url: URL,
  { headers = {}, body, withinMs }: JsonRequest,
  signal: AbortSignal,
): Promise<unknown> {
  using deadline = openDeadline(signal, withinMs);
  try {
    const request = {
      method: body === undefined ? "GET" : "POST",
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? "" : JSON.stringify(body),
    };
    const response = await http.exchange(url, request, deadline.signal);
    if (response.status !== 200) throw unlisted(`${url.host} answered with status ${response.status}.`);
    const chunks: Buffer[] = [];
    let size = 0;
    for (let chunk = await response.read(); chunk !== undefined; chunk = await response.read()) {
      size += chunk.length;
      if (size > MAX_BYTES) throw unlisted(`${url.host} answered with more than ${MAX_BYTES} bytes.`);
      chunks.push(chunk);
    }
    return parseJson(Buffer.concat(chunks).toString("utf8"), url);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) throw error;
    if (deadline.isOver) throw unlisted(`${url.host} did not answer within ${withinMs / 1_000} s.`);
    throw unlisted(`The connection to ${url.host} broke.`, error);
  }
}

function parseJson(text: string, { host }: URL): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unlisted(`${host} answered with something that is not JSON.`);
  }
}

export function unlisted(message: string, cause?: unknown): AppError {
  return new AppError("models-unlisted", message, { cause });
}
