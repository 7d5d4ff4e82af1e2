import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError, type ErrorCode } from "../lib/errors.ts";
import type { Route } from "./api-route.ts";

/** A request that the API refuses, with the status and code that the client gets. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: ContentfulStatusCode;
  readonly code: string;
  /** The field of the request that is wrong. */
  readonly param: string | undefined;
  /** What to do next, unless the message says it. */
  readonly hint: string | undefined;
  /** Further fields of the problem. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    status: ContentfulStatusCode,
    code: string,
    message: string,
    param?: string,
    hint?: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
    this.hint = hint;
    this.details = details;
  }
}

/** The status of known failures; every other one is 500. */
const STATUS: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  "usage-wrong": 400,
  "config-invalid": 400,
  "config-key-unknown": 404,
  "setting-fixed": 409,
  "key-invalid": 400,
  "key-not-found": 404,
  "key-exists": 409,
  "provider-key-missing": 409,
  "provider-incomplete": 409,
  "model-unknown": 404,
  "model-unnamed": 400,
  "session-not-found": 404,
  "message-not-found": 404,
  "turn-not-found": 404,
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
  "database-unavailable": 503,
  "board-slug-invalid": 400,
  "board-not-found": 404,
  "board-not-empty": 409,
  "board-action-denied": 403,
  "task-ambiguous": 400,
  "task-not-found": 404,
  "task-input-invalid": 400,
  "task-move-refused": 409,
  "task-changed": 412,
  "task-parents-open": 409,
  "task-link-cycle": 409,
  "task-limit-reached": 409,
  "task-running": 409,
  "run-superseded": 409,
  "workspace-refused": 409,
  "attachment-too-large": 413,
  "attachment-missing": 404,
  "attachment-damaged": 409,
  "terminal-unavailable": 503,
  "sandbox-unavailable": 503,
  "sandbox-refused": 409,
  "sandbox-held": 409,
  "sandbox-exists": 409,
  "snapshot-exists": 409,
  "snapshot-not-found": 404,
  "job-not-found": 404,
  "job-unstarted": 409,
  "job-survived": 409,
  "provider-unknown": 400,
  "profile-name-invalid": 400,
  "profile-not-found": 404,
  "profile-exists": 409,
  "profile-protected": 409,
  "profile-rename-unfinished": 409,
  "pairing-not-found": 404,
  "pairing-locked": 429,
  "session-ambiguous": 400,
  "session-title-invalid": 400,
  "session-title-taken": 409,
  "file-unreadable": 404,
};

/** Converts a thrown value to the error for the client. Details of a bug are only in the log. */
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
  const { code, message, hint, details } = error;
  return { code: code.replaceAll("_", "-"), message, hint: hint ?? null, ...details };
}
