import type { RuntimeFooterOptions } from "../footer-options.ts";

/** What is known about a turn when it has ended. */
export interface TurnFacts {
  readonly model: string | undefined;
  /** Tokens of the last request and its answer. */
  readonly contextTokens: number | undefined;
  readonly windowTokens: number | undefined;
}

/** The last line of an answer; empty if none of its facts is known. */
export function answerFooter(
  fields: RuntimeFooterOptions["fields"],
  { model, contextTokens, windowTokens }: TurnFacts,
  cwd: string,
): string {
  const share = contextTokens === undefined || !windowTokens ? undefined : contextTokens / windowTokens;
  const shown = {
    model: model?.replace(/^.*\//, ""),
    context_pct: share === undefined ? undefined : `${Math.round(share * 100)} % of context`,
    cwd,
  };
  return fields.flatMap((field) => shown[field] ?? []).join(" · ");
}
