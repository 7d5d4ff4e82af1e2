import type { ApiRun } from "../runs/api-runs.ts";
import type { RunResult } from "../store/api-database.ts";
import type { OutputItem } from "./response-items.ts";
import { findRunError, responseUsage } from "./usage.ts";

/** What a client sent that a response repeats. */
export interface ResponseFacts {
  readonly instructions: string | null;
  readonly previousResponseId: string | null;
  readonly conversation: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly store: boolean;
}

export function responseId({ id }: Pick<ApiRun, "id">): string {
  return id.replace("run_", "resp_");
}

/** The body of a response; without a result it is in progress. */
export function describeResponse(
  run: ApiRun,
  facts: ResponseFacts,
  output: readonly OutputItem[],
  result: RunResult | undefined,
) {
  const failure = result && findRunError(result);
  const isIncomplete = result?.outcome === "cut" || result?.outcome === "budget";
  return {
    id: responseId(run),
    object: "response",
    created_at: Math.floor(run.createdAt / 1_000),
    status: result === undefined ? "in_progress" : statusOf(result, isIncomplete),
    background: false,
    error: failure === undefined ? null : { code: failure.code, message: failure.message },
    incomplete_details: isIncomplete ? { reason: "max_output_tokens" } : null,
    instructions: facts.instructions,
    max_output_tokens: null,
    metadata: facts.metadata,
    model: run.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: facts.previousResponseId,
    conversation: facts.conversation === null ? null : { id: facts.conversation },
    reasoning: { effort: null, summary: null },
    store: facts.store,
    temperature: null,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: null,
    truncation: "disabled",
    usage: result === undefined ? null : responseUsage(result),
  };
}

function statusOf({ outcome }: RunResult, isIncomplete: boolean): string {
  if (isIncomplete) return "incomplete";
  if (outcome === "stopped") return "cancelled";
  return outcome === "failed" || outcome === "error" ? "failed" : "completed";
}
