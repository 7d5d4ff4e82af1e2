import { createHash } from "node:crypto";
import { ApiError } from "../api-error.ts";
import { findRunError } from "../openai/usage.ts";
import type { RunResult } from "../store/api-database.ts";
import type { ApiRun } from "./api-runs.ts";

export const SESSION_HEADER = "X-Hermes-Session-Id";
export const RUN_HEADER = "X-Hermes-Run-Id";
const REPLAY_HEADER = "Idempotency-Replayed";
const MAX_SESSION_NAME = 256;
const MAX_IDEMPOTENCY_KEY = 255;
const VISIBLE = /^[\x21-\x7e]+$/;

/** The result of a run; throws if it has no answer. */
export async function requireEnded(run: ApiRun): Promise<RunResult> {
  const result = await run.ended;
  if (result === undefined)
    throw new ApiError(409, "run_elsewhere", `Another process runs it; see GET /v1/runs/${run.id}.`);
  const error = findRunError(result);
  if (error !== undefined) throw error;
  return result;
}

/** The headers that name the run and its session. A session that cannot be opened is an error of the request. */
export async function runHeaders(run: ApiRun): Promise<Record<string, string>> {
  const opened = run.turn === undefined ? undefined : await run.turn.opened;
  const sessionId = opened?.sessionId ?? run.stored()?.sessionId;
  return {
    [RUN_HEADER]: run.id,
    ...(sessionId !== undefined && { [SESSION_HEADER]: sessionId }),
    ...(run.isReplay && { [REPLAY_HEADER]: "true" }),
  };
}

export function parseSessionName(name: string | null | undefined, param: string): string | undefined {
  if (name === null || name === undefined || name === "") return undefined;
  if (name.length <= MAX_SESSION_NAME && VISIBLE.test(name)) return name;
  throw new ApiError(
    400,
    "invalid_session_id",
    `${param} is 1 to ${MAX_SESSION_NAME} visible ASCII characters.`,
    param,
  );
}

/** The idempotency key of a request, with the hash of everything that makes two requests the same. */
export function parseIdempotency(headers: Headers, request: readonly unknown[]) {
  const key = headers.get("Idempotency-Key");
  if (key === null) return undefined;
  if (key.length > MAX_IDEMPOTENCY_KEY || !VISIBLE.test(key))
    throw new ApiError(
      400,
      "invalid_idempotency_key",
      `Idempotency-Key is 1 to ${MAX_IDEMPOTENCY_KEY} visible ASCII characters.`,
      "Idempotency-Key",
    );
  const requestHash = createHash("sha256").update(JSON.stringify(request)).digest("hex");
  return { key, requestHash };
}
