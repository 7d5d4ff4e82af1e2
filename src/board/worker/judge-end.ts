import { createRedactor } from "../../lib/redact/redactor.ts";
import { lastWords } from "../../lib/shorten.ts";
import type { WorkerExit } from "../dispatcher/run-ending.ts";
import type { ProcessExit } from "./start-worker.ts";
import { WORKER_EXITS } from "./worker-exits.ts";

/** Why a supervisor's watch is over. */
export type RunFate =
  | { readonly kind: "exited"; readonly exit: ProcessExit }
  | { readonly kind: "timed-out"; readonly seconds: number }
  /** The supervisor was told to end. */
  | { readonly kind: "stopped" }
  /** The lease could not be renewed. */
  | { readonly kind: "unsure" }
  /** The run is another's or nobody's. */
  | { readonly kind: "lost" }
  /** Someone else has ended the run. */
  | { readonly kind: "ended" }
  /** The worker had handed in its result, and then did not end. */
  | { readonly kind: "closed" };

/** Outcomes that a worker gives its own run. */
export const OWN_RESULTS: ReadonlySet<string> = new Set([
  "completed",
  "blocked",
  "scheduled",
  "review_requested",
  "changes_requested",
]);

const TAIL_CHARS = 400;
/** Our reminders may stand last, and must not push out what the worker said. */
const TAIL_WITH_REMINDERS_CHARS = 1_000;
const KILLED_FROM_OUTSIDE: ReadonlySet<string | null> = new Set(["SIGTERM", "SIGHUP", "SIGINT"]);

/** How a worker ended whose run is still open; undefined when its end is not this supervisor's to tell. */
export function judgeEnd(
  fate: RunFate,
  { code, signal }: ProcessExit,
  output: string,
  fullDisk?: string,
): WorkerExit | undefined {
  const said = createRedactor({ secrets: [] }).redact(output);
  const tail = lastWords(said, TAIL_CHARS);
  const detail = { exit_code: code, ...(signal !== null && { signal }), worker_output: tail };
  const end = (
    outcome: WorkerExit["outcome"],
    failureKind: NonNullable<WorkerExit["failureKind"]>,
    error: string,
  ): WorkerExit => {
    const why = fullDisk === undefined ? "" : `the disk with ${fullDisk} is full, and `;
    return { outcome, failureKind, error: `${why}${error}`, detail };
  };
  switch (fate.kind) {
    case "lost":
    case "ended":
    case "closed":
      return undefined;
    case "stopped":
      return end("infra_killed", "infra", "the supervisor of the run was told to end");
    case "unsure":
      return end("infra_killed", "infra", "the lease of the run could not be renewed");
    case "timed-out":
      return end("timed_out", "task", `the worker ran longer than ${fate.seconds} s`);
  }
  if (code === WORKER_EXITS.quota)
    return end("rate_limited", "quota", `the limit of the provider is reached\n${tail}`);
  if (code === WORKER_EXITS.terminated || KILLED_FROM_OUTSIDE.has(signal))
    return end("infra_killed", "infra", "the worker was told to end");
  if (code === WORKER_EXITS.infrastructure)
    return end("infra_killed", "infra", `the worker could not use its board or its session\n${tail}`);
  if (code === WORKER_EXITS.budget)
    return end("budget_exhausted", "budget", `a limit of the run was reached\n${tail}`);
  if (code === WORKER_EXITS.over)
    return end(
      "protocol_violation",
      "protocol",
      `the worker ended without completing or blocking its task\n${lastWords(said, TAIL_WITH_REMINDERS_CHARS)}`,
    );
  const how = code === null ? `the worker was killed by ${signal}` : `the worker ended with code ${code}`;
  const why = lastFailure(said);
  // No attempt can succeed before somebody changes the settings.
  if (code === WORKER_EXITS.provider)
    return { ...end("crashed", "auth", `${why ?? how}\n${tail}`), terminal: true };
  return end("crashed", "task", `${why === undefined ? how : `${how}: ${why}`}\n${tail}`);
}

/** The last failure that a program of ours has told: one line of it says more than a code. */
function lastFailure(said: string): string | undefined {
  return [...said.matchAll(/^hermes: (?!note:|warning:)(.+)$/gm)].at(-1)?.[1]?.trim();
}
