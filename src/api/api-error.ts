import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError, type ErrorCode } from "../lib/errors.ts";
import type { Route } from "./route.ts";

/** A request that the API refuses, with the status and code that the client gets. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: ContentfulStatusCode;
  readonly code: string;
  /** The field of the request that is wrong. */
  readonly param: string | undefined;
  /** What to do next, unless the message says it. */
  readonly hint: string | undefined;

  constructor(status: ContentfulStatusCode, code: string, message: string, param?: string, hint?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
    this.hint = hint;
  }
}

/** The status of known failures; every other one is 500. */
const STATUS: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  "usage-wrong": 400,
  "session-not-found": 404,
  "message-not-found": 404,
  "session-busy": 409,
  "approval-not-found": 404,
  "approval-answered": 409,
  "approval-kind-wrong": 400,
  "address-private": 400,
  "turn-stopped": 409,
  "turns-full": 429,
  "turns-draining": 503,
  "budget-spent": 429,
  "database-busy": 503,
};

/** What the client is told about a thrown value. A bug is only named as such; the log has it. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof AppError) {
    const { code, message, hint } = thrown;
    return new ApiError(STATUS[code] ?? 500, code.replaceAll("-", "_"), message, undefined, hint);
  }
  return new ApiError(500, "internal_error", "The server failed to handle this request; its log says why.");
}

const TYPES: Partial<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  429: "rate_limit_error",
};

/** The body of an error in OpenAI's shape. */
export function openAiError({ status, code, message: what, hint, param }: ApiError) {
  const message = hint === undefined ? what : `${what} ${hint}`;
  const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
  return { error: { message, type, param: param ?? null, code } };
}

/** The body of an error in the shape that a row of the table names. */
export function errorBody(error: ApiError, shape: Route["errors"]) {
  if (shape === "openai") return openAiError(error);
  const { code, message, hint } = error;
  return { code: code.replaceAll("_", "-"), message, hint: hint ?? null };
}
