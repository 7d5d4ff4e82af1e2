import { setImmediate } from "node:timers/promises";
import { findInjection } from "../../lib/untrusted/find-injection.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Tool } from "../../tools/tool.ts";
import { type CallGateParts, createCallGate } from "./call-gate.ts";

/** V8 compiles a regular expression only when it is used again, so one decision is not enough. */
const DECISIONS = 5;
const CALL = {
  type: "tool-call",
  callId: "",
  tool: "terminal",
  input: JSON.stringify({ command: "echo done" }),
} as const;

/**
 * Decides about a harmless command a few times while the model is thinking, and runs the checks of the tool and of its result,
 * because the first run of that code takes milliseconds. Yields after each step, so that an answer never waits for more than one.
 */
export async function warmGate(parts: CallGateParts, terminal: Tool, signal: AbortSignal): Promise<void> {
  const gate = createCallGate({ ...parts, policy: withoutQuestions(parts.policy) });
  for (let count = 0; count < DECISIONS && !signal.aborted; count++) {
    await gate.decide(CALL, terminal, signal);
    await setImmediate();
    findInjection("done");
    await setImmediate();
    terminal.warm?.();
    await setImmediate();
  }
}

/** A rule may ask about every command; the decision must not ask a person or the reviewer, or use up an approval. */
function withoutQuestions(policy: Policy): Policy {
  return { ...policy, review: undefined, useGrant: async () => undefined, unattended: "deny" };
}
