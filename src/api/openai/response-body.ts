import type { ApiRun } from "../runs/api-runs.ts";
import type { RunResult } from "../store/api-database.ts";
import type { ItemCollector } from "./response-items.ts";
import { findRunError, responseUsage } from "./usage.ts";

/** What a client sent that a response repeats. */
export interface ResponseFacts {
  readonly instructions: string | null;
  readonly previousResponseId: string | null;
  readonly conversation: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly store: boolean;
  readonly tools: readonly object[];
}

/** The first response of a run has its id; those after calls of functions of the client are counted. */
export function responseId({ id }: Pick<ApiRun, "id">, part: number): string {
  return `${id.replace("run_", "resp_")}${part === 1 ? "" : `_${part}`}`;
}

export function parseResponseId(id: string): string | undefined {
  const run = /^resp_(?<run>[\da-f]{24})(?:_\d+)?$/.exec(id)?.groups?.["run"];
  return run && `run_${run}`;
}

/** A response that is in progress, one that ends because the client has to run functions, or how the turn has ended. */
export type ResponseState = "in-progress" | "paused" | RunResult;

export function describeResponse(
  run: ApiRun,
  facts: ResponseFacts,
  collector: Pick<ItemCollector, "items" | "part" | "usage">,
  state: ResponseState,
) {
  const result = typeof state === "string" ? undefined : state;
  const failure = result && findRunError(result);
  const isIncomplete = result?.outcome === "cut" || result?.outcome === "budget";
  return {
    id: responseId(run, collector.part()),
    object: "response",
    created_at: Math.floor(run.createdAt / 1_000),
    status: state === "in-progress" ? "in_progress" : statusOf(result, isIncomplete),
    background: false,
    error: failure === undefined ? null : { code: failure.code, message: failure.message },
    incomplete_details: isIncomplete ? { reason: "max_output_tokens" } : null,
    instructions: facts.instructions,
    max_output_tokens: null,
    metadata: facts.metadata,
    model: run.model,
    output: state === "in-progress" ? [] : collector.items(),
    parallel_tool_calls: true,
    previous_response_id: facts.previousResponseId,
    conversation: facts.conversation === null ? null : { id: facts.conversation },
    reasoning: { effort: null, summary: null },
    store: facts.store,
    temperature: null,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: facts.tools,
    top_p: null,
    truncation: "disabled",
    usage:
      state === "in-progress"
        ? null
        : responseUsage(state === "paused" ? { usage: collector.usage() } : state),
  };
}

function statusOf(result: RunResult | undefined, isIncomplete: boolean): string {
  if (isIncomplete) return "incomplete";
  const outcome = result?.outcome;
  if (outcome === "stopped") return "cancelled";
  return outcome === "failed" || outcome === "error" ? "failed" : "completed";
}
