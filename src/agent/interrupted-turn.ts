import { shorten } from "../lib/text/shorten.ts";
import { type Message, type ToolCallPart, toolCallsOf } from "../providers/message.ts";
import type { AgentEvent, InterruptedTurn, PendingCall } from "./events.ts";
import { createResultMessage, createToolEnd } from "./run-tools.ts";

const MAX_SUMMARY_CHARS = 60;
const NEVER_STARTED =
  "Not run: Hermes exited before this call started, so it had no effect. Call it again if it is still needed.";

/** Ends a turn that a crash interrupted. If the answer is complete, only the turn-end event was lost. */
export function endInterrupted(turnId: string, last: Message | undefined): InterruptedTurn {
  const wasAnswered = last?.role === "assistant" && toolCallsOf(last).length === 0;
  const text = "[No answer: Hermes exited before the turn ended]";
  return {
    turnId,
    outcome: wasAnswered ? "completed" : "failed",
    reason: wasAnswered ? undefined : "Hermes exited before the turn ended.",
    answer: last?.role === "user" ? { role: "assistant", parts: [{ type: "text", text }] } : undefined,
  };
}

/** Reports calls that an earlier process left without a result, and returns the history with their results. */
export async function* reportPending(
  pending: readonly PendingCall[],
  history: readonly Message[],
  lookUp: (pending: PendingCall) => Promise<string | undefined>,
): AsyncGenerator<AgentEvent, Message[]> {
  const results: Message[] = [];
  for (const one of pending) {
    const { call, started } = one;
    const finding = await lookUp(one);
    const end = started
      ? createToolEnd(call, describeUnknown(finding), "unknown")
      : createToolEnd(call, [NEVER_STARTED, finding].filter(Boolean).join(" "));
    results.push(createResultMessage(call, end));
    yield end;
    const what = started ? "interrupted, outcome unknown; it was not run again" : "not run";
    yield { type: "notice", text: `${call.tool} ${summarizeInput(call)}: ${what}.` };
  }
  return results.length === 0 ? [...history] : moveResultsToCalls([...history, ...results]);
}

function describeUnknown(finding: string | undefined): string {
  const text = [
    "Interrupted: Hermes exited while this call ran, so its outcome is unknown.",
    finding,
    "It was not run again. Check what it did before you repeat it.",
  ];
  return text.filter(Boolean).join(" ");
}

/** Moves results directly after the message with their calls, in the order of the calls. */
function moveResultsToCalls(history: readonly Message[]): Message[] {
  const results = new Map(history.flatMap((one) => (one.role === "tool" ? [[one.callId, one]] : [])));
  return history.flatMap((message): Message[] => {
    if (message.role === "tool") return [];
    if (message.role !== "assistant") return [message];
    return [message, ...toolCallsOf(message).flatMap(({ callId }) => results.get(callId) ?? [])];
  });
}

/** A short text that identifies a call: its command, path or pattern, or else the start of its input. */
export function summarizeInput({ input }: ToolCallPart): string {
  const [, main] = /"(?:command|path|pattern)"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(input) ?? [];
  return shorten(main ?? input, MAX_SUMMARY_CHARS);
}
