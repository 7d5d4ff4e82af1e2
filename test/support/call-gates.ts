import type { DecidedCall } from "../../src/agent/events.ts";
import type { CallGate } from "../../src/agent/run-tools.ts";
import type { Decision } from "../../src/policy/decision.ts";
import type { ToolCallPart } from "../../src/providers/message.ts";

function decidedCall({ callId, tool, input }: ToolCallPart, decision: Decision): DecidedCall {
  return { callId, tool, hash: input, summary: input, decision };
}

/** Allows every call. */
export const OPEN_GATE: CallGate = {
  takeReviews: () => [],
  decide: async (call) => decidedCall(call, { verdict: "allowed", step: "yolo", reason: "a test" }),
};

/** Denies every call. */
export const CLOSED_GATE: CallGate = {
  takeReviews: () => [],
  decide: async (call) =>
    decidedCall(call, {
      verdict: "denied",
      step: "deny-rule",
      reason: "a test",
      message: `never: ${call.input}`,
    }),
};
