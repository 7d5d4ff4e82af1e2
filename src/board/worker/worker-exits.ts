import { AppError } from "../../lib/errors.ts";

/** The exit codes that tell the supervisor how its worker ended. */
export const WORKER_EXIT_CODES = {
  /** The model ended the run with a tool call. If there was no such call, the supervisor reports a protocol violation. */
  ended: 0,
  failed: 1,
  /** A limit on requests, time or cost was reached. */
  budget: 3,
  /** The board could not be reached or the session is in use, which does not count against the task. */
  infrastructure: 74,
  /** The rate limit or quota of the provider is used up for now. */
  quota: 75,
  /** No attempt can succeed before a person corrects the key, the model or other settings. */
  provider: 78,
  /** The worker received SIGTERM (128 + 15). */
  terminated: 143,
} as const;

/** Errors that the task did not cause and that end by themselves. */
const INFRASTRUCTURE_ERRORS: ReadonlySet<string> = new Set([
  "database-unavailable",
  "database-busy",
  "database-replaced",
  "session-busy", // an earlier worker that has not ended yet, or a person, has a turn in it
]);

export function isInfrastructureFailure(error: unknown): error is AppError {
  return error instanceof AppError && INFRASTRUCTURE_ERRORS.has(error.code);
}
