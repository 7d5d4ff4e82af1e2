import { createRedactor } from "../../lib/redact/redactor.ts";
import { formatTail } from "../../lib/text/shorten.ts";
import type { WorkerExit } from "../dispatcher/rules/run-ending.ts";
import { WORKER_EXIT_CODES } from "../worker/worker-exits.ts";
import type { ProcessExit } from "./start-worker.ts";

/** Why a supervisor stops watching its run. */
export type WatchEnd =
  | { readonly kind: "exited"; readonly exit: ProcessExit }
  | { readonly kind: "timed-out"; readonly seconds: number }
  /** The supervisor was asked to stop. */
  | { readonly kind: "stopped" }
  /** The lease could not be renewed. */
  | { readonly kind: "unsure" }
  /** The run no longer belongs to this supervisor. */
  | { readonly kind: "lost" }
  /** A person or another process has ended the run. */
  | { readonly kind: "ended" }
  /** The worker reported its result but did not exit. */
  | { readonly kind: "closed" };

/** Outcomes that a worker sets for its own run. */
export const WORKER_OUTCOMES: ReadonlySet<string> = new Set([
  "completed",
  "blocked",
  "scheduled",
  "review_requested",
  "changes_requested",
]);

const TAIL_CHARS = 400;
/** Longer, because the reminders that we print last must not push out the worker's own output. */
const TAIL_WITH_REMINDERS_CHARS = 1_000;
const KILLED_FROM_OUTSIDE: ReadonlySet<string | null> = new Set(["SIGTERM", "SIGHUP", "SIGINT"]);

/** Classifies the exit of a worker whose run is still open; undefined when this supervisor must not report the end. */
export function classifyExit(
  watchEnd: WatchEnd,
  { code, signal }: ProcessExit,
  output: string,
  fullDisk?: string,
): WorkerExit | undefined {
  const redacted = createRedactor({ secrets: [] }).redact(output);
  const tail = formatTail(redacted, TAIL_CHARS);
  const detail = { exit_code: code, ...(signal !== null && { signal }), worker_output: tail };
  const end = (
    outcome: WorkerExit["outcome"],
    failureKind: NonNullable<WorkerExit["failureKind"]>,
    error: string,
  ): WorkerExit => {
    const why = fullDisk === undefined ? "" : `the disk with ${fullDisk} is full, and `;
    return { outcome, failureKind, error: `${why}${error}`, detail };
  };
  switch (watchEnd.kind) {
    case "lost":
    case "ended":
    case "closed":
      return undefined;
    case "stopped":
      return end("infra_killed", "infra", "the supervisor of the run was asked to stop");
    case "unsure":
      return end("infra_killed", "infra", "the lease of the run could not be renewed");
    case "timed-out":
      return end("timed_out", "task", `the worker ran longer than ${watchEnd.seconds} s`);
  }
  if (code === WORKER_EXIT_CODES.quota)
    return end("rate_limited", "quota", `the rate limit of the provider is reached\n${tail}`);
  if (code === WORKER_EXIT_CODES.terminated || KILLED_FROM_OUTSIDE.has(signal))
    return end("infra_killed", "infra", "the worker was asked to stop");
  if (code === WORKER_EXIT_CODES.infrastructure)
    return end("infra_killed", "infra", `the worker could not use its board or its session\n${tail}`);
  if (code === WORKER_EXIT_CODES.budget)
    return end("budget_exhausted", "budget", `a limit of the run was reached\n${tail}`);
  if (code === WORKER_EXIT_CODES.ended)
    return end(
      "protocol_violation",
      "protocol",
      `the worker ended without completing or blocking its task\n${formatTail(redacted, TAIL_WITH_REMINDERS_CHARS)}`,
    );
  const how = code === null ? `the worker was killed by ${signal}` : `the worker ended with code ${code}`;
  const why = lastFailure(redacted);
  // No attempt can succeed before a user corrects the settings.
  if (code === WORKER_EXIT_CODES.provider)
    return {
      ...end("crashed", "auth", why === undefined ? `${how}\n${tail}` : reasonFirst(why, tail)),
      terminal: true,
    };
  return end("crashed", "task", `${why === undefined ? how : `${how}: ${why}`}\n${tail}`);
}

/** The reason, followed by the other lines of the output. */
function reasonFirst(why: string, tail: string): string {
  return `${why}\n${tail.replace(`hermes: ${why}`, "").trim()}`;
}

/** The last error line that hermes itself printed, which explains more than an exit code. */
function lastFailure(output: string): string | undefined {
  return [...output.matchAll(/^hermes: (?!note:|warning:)(.+)$/gm)].at(-1)?.[1]?.trim();
}
