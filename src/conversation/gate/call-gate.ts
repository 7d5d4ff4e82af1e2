import { hash } from "node:crypto";
import type { DecidedCall } from "../../agent/events.ts";
import type { AskedCall, CallGate } from "../../agent/run-tools.ts";
import type { Approval, ApprovalDetails, ApprovalState } from "../../approvals/approval.ts";
import type { ApprovalQueue } from "../../approvals/approval-queue.ts";
import { awaitAnswer } from "../../approvals/await-answer.ts";
import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import { isTooDeep } from "../../lib/text/json-depth.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { decide } from "../../policy/decide.ts";
import type { Decision, DecisionRequest } from "../../policy/decision.ts";
import { formatDenial } from "../../policy/denial.ts";
import type { OpenQuestion, Policy } from "../../policy/policy.ts";
import type { ToolCallPart } from "../../providers/message.ts";
import type { Tool } from "../../tools/tool.ts";

export interface CallGateParts {
  readonly policy: Policy;
  readonly queue: ApprovalQueue;
  readonly sessionId: string;
  readonly identity: ProcessIdentity;
  readonly clock: Clock;
  /** How long a question waits; undefined if the question outlives the run that asked it. */
  readonly timeoutMs: number | undefined;
  /** The board's task whose worker asks. */
  readonly task: ApprovalDetails["task"];
  redact(text: string): string;
  readonly takeReviews: CallGate["takeReviews"];
}

interface DescribedCall {
  readonly request: DecisionRequest;
  /** The summary before it is shortened. */
  readonly fullSummary: string;
}

/** A longer call is shown to a person in full only on request. */
const MAX_SUMMARY_CHARS = 4_000;
const MAX_CHOICE_CHARS = 500;

/** Decides about the calls of one session, and stores a question where only a person may decide. */
export function createCallGate(parts: CallGateParts): CallGate {
  const { policy, queue, sessionId, clock } = parts;

  function describe(call: ToolCallPart, tool: Tool): DescribedCall {
    const effects = tool.effectsOf?.(call.input) ?? {};
    const what =
      effects.commands?.[0] ??
      effects.asks?.question ??
      [tool.name, ...(effects.writes ?? effects.reads ?? effects.jobs ?? [])].join(" ");
    const fullSummary = parts.redact(what);
    const request = {
      callId: call.callId,
      tool: tool.name,
      mutates: tool.mutates && effects.changesNothing !== true,
      effects,
      hash: hashCall(tool.name, call.input),
      summary: shorten(fullSummary, MAX_SUMMARY_CHARS),
    };
    return { request, fullSummary };
  }

  async function ask(
    { request, fullSummary }: DescribedCall,
    { question }: OpenQuestion,
    signal: AbortSignal,
  ): Promise<Approval> {
    const { reason, rule, session, always } = question;
    return queue.ask(
      {
        ...{ sessionId, kind: "approval", callId: request.callId, tool: request.tool, hash: request.hash },
        ...{ summary: request.summary, reason: parts.redact(reason), rule, timeoutMs: parts.timeoutMs },
        details: {
          ...{ session, always: withoutSecret(always), task: parts.task },
          whole: fullSummary === request.summary ? undefined : fullSummary,
        },
      },
      parts.identity,
      signal,
    );
  }

  /** Stores the question of a `clarify` call. */
  function askClarification(request: DecisionRequest, signal: AbortSignal): Promise<Approval> {
    const { callId, tool, hash, summary, effects } = request;
    return queue.ask(
      {
        ...{ sessionId, kind: "clarification", callId, tool, hash, summary, timeoutMs: parts.timeoutMs },
        reason: CLARIFICATION_REASON,
        details: {
          choices: effects.asks?.choices.map((choice) => shorten(parts.redact(choice), MAX_CHOICE_CHARS)),
          several: effects.asks?.several,
          task: parts.task,
        },
      },
      parts.identity,
      signal,
    );
  }

  /** Omits a rule that contains a secret, because the settings would store the secret. */
  function withoutSecret(always: OpenQuestion["question"]["always"]): typeof always {
    return always !== undefined && parts.redact(always.rule) === always.rule ? always : undefined;
  }

  return {
    takeReviews: parts.takeReviews,
    async decide(call, tool, signal): Promise<DecidedCall | AskedCall> {
      const described = describe(call, tool);
      const { request } = described;
      const { callId, hash, summary } = request;
      const toDecidedCall = (decision: Decision): DecidedCall => ({
        ...{ callId, tool: tool.name, hash, summary },
        decision: { ...decision, reason: parts.redact(decision.reason) },
      });
      const wait = (approval: Approval, conclude: (answered: Approval) => Decision): AskedCall => ({
        approval,
        async answer(within) {
          const keepAfterAbort = parts.task !== undefined;
          const answered = await awaitAnswer(queue, approval, { clock, keepAfterAbort }, within);
          await queue.use(answered.id, new AbortController().signal);
          return { approval: answered, decided: toDecidedCall(conclude(answered)) };
        },
      });
      const result = await decide(request, policy, signal);
      const isDenied = !("question" in result) && result.verdict === "denied";
      // Asking needs no approval: the question itself waits for an answer.
      if (request.effects.asks !== undefined && !isDenied) {
        const earlier = await queue.takeLateAnswer(sessionId, request, signal);
        if (earlier !== undefined) return toDecidedCall(concludeClarification(earlier));
        return wait(await askClarification(request, signal), concludeClarification);
      }
      if (!("question" in result)) return toDecidedCall(result);
      return wait(await ask(described, result, signal), (answered) => toDecision(answered, result));
    },
  };
}

const CLARIFICATION_REASON = "The model asks a question.";

/** A call whose question expired runs too: its result tells the model to decide for itself. */
function concludeClarification({ id, state, answeredBy }: Approval): Decision {
  const evidence = { step: "person", approvalId: id, answeredBy } as const;
  if (state === "answered")
    return {
      verdict: "allowed",
      reason: `${CLARIFICATION_REASON} ${answeredBy} answered it.`,
      ...evidence,
    };
  const why = isUnanswered(state) ? UNANSWERED[state] : "";
  const reason = `${CLARIFICATION_REASON} ${why}`;
  if (state === "expired") return { verdict: "allowed", reason, ...evidence };
  return { verdict: "denied", reason, message: `Not answered. ${why}`, ...evidence };
}

const UNANSWERED = {
  expired: "Nobody answered in time.",
  withdrawn: "The turn was stopped before anybody answered.",
  waiting: "Nobody has answered yet.",
} as const;

function isUnanswered(state: ApprovalState): state is keyof typeof UNANSWERED {
  return state in UNANSWERED;
}

function toDecision(approval: Approval, { question }: OpenQuestion): Decision {
  const { id, state, scope, answeredBy, answer } = approval;
  const evidence = { rule: question.rule, layer: question.layer, approvalId: id, answeredBy, scope };
  if (state === "approved")
    return {
      verdict: "allowed",
      step: "person",
      reason: `${question.reason} ${answeredBy} approved it.`,
      ...evidence,
    };
  const denied = `${answeredBy} denied it${answer === undefined ? "." : `: ${answer}`}`;
  const why = isUnanswered(state) ? UNANSWERED[state] : denied;
  const reason = `${question.reason} ${why}`;
  return { verdict: "denied", step: "person", reason, message: formatDenial(reason, "person"), ...evidence };
}

/** Equal for calls with equal tools and arguments; the order of the arguments does not matter. */
function hashCall(tool: string, input: string): string {
  let canonical = input;
  try {
    const value: unknown = JSON.parse(input);
    if (!isTooDeep(value)) canonical = JSON.stringify(sortKeys(value));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error; // arguments that need repair are compared as they are
  }
  return hash("sha256", `${tool}\0${canonical}`);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]));
}
