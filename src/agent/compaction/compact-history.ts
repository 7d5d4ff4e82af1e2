import { AppError } from "../../lib/errors.ts";
import { endSentence } from "../../lib/text/end-sentence.ts";
import { headOf } from "../../lib/text/shorten.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Message } from "../../providers/message.ts";
import { addUsage, NO_USAGE, type ToolDefinition, type Usage } from "../../providers/provider.ts";
import type { AgentEvent, AgentEventOf, CompactionTrigger, SummaryFailureKind } from "../events.ts";
import { addCost, estimateTokens } from "../request-cost.ts";
import { collectFacts } from "./collect-facts.ts";
import { renderTranscript } from "./render-transcript.ts";
import { type SplitHistory, splitHistory } from "./split-history.ts";
import { type Summarizer, type SummaryAttempt, type SummaryFailure, summarize } from "./summarize.ts";
import { createSummaryMessage, NOTHING_EARLIER } from "./summary-message.ts";

/** What a compaction needs besides the conversation. */
export interface CompactionParts {
  readonly sessionId: string;
  /** Tried in this order until one of them writes a summary. */
  readonly summarizers: readonly (() => Promise<Summarizer>)[];
  /** How long a summarizer may be silent. */
  readonly silenceMs: number;
  mutates(tool: string): boolean;
  /** The open items of the plan, one line each. */
  openTodos(): readonly string[];
  readonly clock: Clock;
}

type ReplacementParts = Pick<CompactionParts, "sessionId" | "mutates" | "openTodos">;

export interface CompactionRequest {
  readonly history: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  /** How many messages after the system prompt come from an earlier compaction. */
  readonly replaced: number;
  readonly trigger: CompactionTrigger;
  readonly tokens: number;
  /** The window, or the size of the conversation if the window is unknown. */
  readonly windowTokens: number;
  /** The share of the window that the newest messages may take. */
  readonly tailShare: number;
  readonly focus: string | undefined;
  /** Summaries that failed in a row. */
  readonly failures: number;
}

export interface CompactedHistory {
  readonly history: Message[];
  readonly replaced: number;
}

/** The share of the window that the newest messages may take. */
export const TAIL_SHARE = 0.2;
const NEWEST_SHARE = 0.4;
const FACTS_CHARS_PER_WINDOW_TOKEN = 0.1; // for each list of facts
const MAX_FACTS_CHARS = 6_000;
const SUMMARY = {
  shareOfDropped: 0.2,
  maxShareOfWindow: 0.05,
  minTokens: 2_000,
  maxTokens: 12_000,
  minTokensInSmallWindow: 200,
};
/** A smaller gain is not worth losing the provider's cache. */
const MIN_GAIN_SHARE = 0.05;
const CHARS_PER_TOKEN = 3;
const COOLDOWNS_MS = [60_000, 300_000, 900_000] as const;

/** Splits a conversation for a compaction; undefined if that would not make it noticeably shorter. */
export function planCompaction(
  request: Pick<CompactionRequest, "history" | "replaced" | "windowTokens" | "tailShare">,
  parts: ReplacementParts,
): SplitHistory | undefined {
  const { history, replaced, windowTokens, tailShare } = request;
  const split = splitHistory({
    history,
    replaced,
    tailTokens: Math.floor(windowTokens * tailShare),
    newestTokens: Math.floor(windowTokens * NEWEST_SHARE),
  });
  // This measures the gain without the new summary, whose text is still unknown.
  const { dropped, earlier, kept } = split;
  const text = dropped.length === 0 ? earlier.summary : "";
  const replacement = createReplacement(split, { ...NO_ATTEMPT, text }, request, parts);
  const gain = gainOf(history, [...replacement, ...kept]) - summaryTokensOf(dropped, windowTokens);
  return gain >= windowTokens * MIN_GAIN_SHARE ? split : undefined;
}

/** Estimates how many tokens a compaction saves. */
function gainOf(history: readonly Message[], compacted: readonly Message[]): number {
  return estimateTokens(history.filter(({ role }) => role !== "system")) - estimateTokens(compacted);
}

/**
 * Replaces the older part of a conversation with a summary. Returns undefined, and changes nothing, if that would gain
 * nothing, if it was stopped, or if no summary could be written and the conversation still fits without one.
 */
export async function* compactHistory(
  request: CompactionRequest,
  parts: CompactionParts,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, CompactedHistory | undefined> {
  const split = planCompaction(request, parts);
  if (split === undefined) return undefined;
  const { clock } = parts;
  const { trigger, tokens, tools, history } = request;
  const startedAt = clock.now();
  yield { type: "compaction-start", trigger, tokens };
  const summary = yield* writeSummary(split, request, parts, signal);
  if (signal.aborted) return undefined;
  const { failure, provider, model, usage, costUsd } = summary;
  const spent = { provider, model, usage, costUsd };
  const fail = (why: SummaryFailure): AgentEvent => {
    const cooldownMs = COOLDOWNS_MS[Math.min(request.failures, COOLDOWNS_MS.length - 1)] ?? 0;
    return { type: "compaction-failed", ...why, retryAt: clock.now() + cooldownMs, ...spent };
  };
  if (failure !== undefined && !maySummarizeWithoutModel(failure, request)) {
    yield fail(failure);
    return undefined;
  }
  const replacement = createReplacement(split, summary, request, parts);
  // A summary may turn out longer than planned, above all in scripts with several bytes per character.
  if (gainOf(history, [...replacement, ...split.kept]) <= 0) {
    yield fail(POINTLESS_SUMMARY);
    return undefined;
  }
  if (failure !== undefined)
    yield {
      type: "notice",
      text: `${endSentence(failure.message)} Hermes summarised the conversation without a model. ${failure.hint}`,
    };
  if (split.isMessageCut) yield { type: "notice", text: describeCut(parts.sessionId) };
  const system = history.filter(({ role }) => role === "system");
  const compacted = [...system, ...replacement, ...split.kept];
  yield {
    type: "compaction",
    trigger,
    method: failure !== undefined ? "mechanical" : split.dropped.length === 0 ? "cut" : "model",
    replacement,
    kept: split.kept.filter(({ role }) => role !== "tool").length,
    tokensBefore: tokens,
    // The estimate differs from the provider's count, so only the ratio of two estimates is used.
    tokensAfter: Math.round((tokens * estimateTokens([compacted, tools])) / estimateTokens([history, tools])),
    durationMs: clock.now() - startedAt,
    ...spent,
  };
  return { history: compacted, replaced: replacement.length };
}

/** Tries the summarizers in their order. The returned attempt includes the cost of all attempts. */
async function* writeSummary(
  split: SplitHistory,
  request: CompactionRequest,
  { summarizers, silenceMs, clock }: CompactionParts,
  signal: AbortSignal,
): AsyncGenerator<AgentEventOf<"notice">, SummaryAttempt> {
  const { dropped, earlier } = split;
  const { windowTokens, focus } = request;
  let last: SummaryAttempt = { ...NO_ATTEMPT, text: earlier.summary };
  if (dropped.length === 0) return last;
  const summaryTokens = summaryTokensOf(dropped, windowTokens);
  const order = { dropped, previousSummary: earlier.summary, focus, windowTokens, summaryTokens };
  let usage: Usage = NO_USAGE;
  let costUsd: number | undefined;
  for (const [index, open] of summarizers.entries()) {
    if (index > 0)
      yield { type: "notice", text: `${endSentence(last.failure?.message ?? "")} Trying another model.` };
    const model = await openSummarizer(open);
    last = "failure" in model ? model : yield* summarize(model, order, { silenceMs, clock }, signal);
    usage = addUsage(usage, last.usage);
    costUsd = addCost(costUsd, last.costUsd);
    if (last.failure === undefined || signal.aborted) break;
  }
  return { ...last, usage, costUsd };
}

const NO_ATTEMPT: SummaryAttempt = {
  text: "",
  failure: undefined,
  provider: "",
  model: "",
  usage: NO_USAGE,
  costUsd: undefined,
};

async function openSummarizer(open: () => Promise<Summarizer>): Promise<Summarizer | SummaryAttempt> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { message, hint } = error;
    return { ...NO_ATTEMPT, failure: { kind: "refused", message: `No summary: ${message}`, hint } };
  }
}

const POINTLESS_SUMMARY: SummaryFailure = {
  kind: "pointless",
  message: "The summary is not shorter than what it would replace, so the conversation stays as it is.",
  hint: "Set another model for summaries with auxiliary.compression.model.",
};

function describeCut(sessionId: string): string {
  return `Your message does not fit into the model's window, so its middle was cut for the model. All of it is stored: the model can search it, and \`hermes sessions show ${sessionId}\` prints it.`;
}

/** Failures that another attempt with the same model would probably repeat. */
const LIKELY_TO_FAIL_AGAIN: ReadonlySet<SummaryFailureKind> = new Set([
  "stalled",
  "disobedient",
  "empty",
  "malformed",
  "too-long",
  "refused",
]);

/** A summary without a model loses detail, so it is the last resort: the conversation does not fit, or models keep failing. */
function maySummarizeWithoutModel(
  { kind }: SummaryFailure,
  { trigger, failures }: CompactionRequest,
): boolean {
  return (
    trigger === "overflow" || (trigger === "threshold" && failures > 0 && LIKELY_TO_FAIL_AGAIN.has(kind))
  );
}

function createReplacement(
  { dropped, earlier, userParts, answerable, copied }: SplitHistory,
  { text: written, failure }: SummaryAttempt,
  { windowTokens }: Pick<CompactionRequest, "windowTokens">,
  { sessionId, mutates, openTodos }: ReplacementParts,
): Message[] {
  if (dropped.length === 0 && earlier === NOTHING_EARLIER)
    return userParts.length === 0 ? [...copied] : [{ role: "user", parts: userParts }, ...copied];
  const maxChars = summaryTokensOf(dropped, windowTokens) * CHARS_PER_TOKEN;
  const summary =
    failure === undefined
      ? written
      : `${headOf(earlier.summary, maxChars / 2)}\n\n${renderTranscript(dropped, maxChars / 2)}`.trim();
  const facts = collectFacts(dropped, earlier, {
    maxChars: Math.min(MAX_FACTS_CHARS, windowTokens * FACTS_CHARS_PER_WINDOW_TOKEN),
    answerable,
    mutates,
  });
  const identifiers = facts.identifiers.filter((name) => !summary.includes(name));
  const todos = openTodos();
  return [createSummaryMessage({ ...facts, identifiers, summary, todos }, sessionId, userParts), ...copied];
}

function summaryTokensOf(dropped: readonly Message[], windowTokens: number): number {
  if (dropped.length === 0) return 0;
  const { shareOfDropped, maxShareOfWindow, minTokens, maxTokens, minTokensInSmallWindow } = SUMMARY;
  const wanted = Math.max(minTokens, estimateTokens(dropped) * shareOfDropped);
  const most = Math.min(wanted, windowTokens * maxShareOfWindow, maxTokens);
  return Math.floor(Math.max(minTokensInSmallWindow, most));
}
