import type { Clock } from "../../lib/clock.ts";
import { hashOf } from "../ai-sdk/prefix-hashes.ts";
import { type AssistantMessage, type Message, type ToolCallPart, textOf } from "../message.ts";
import type { Model, ModelEvent, ModelFailure } from "../provider.ts";
import { parseObject } from "../wire/replayable-input.ts";
import { fillIn, type Line, type Picked, pickAnswer } from "./pick-answer.ts";
import type { Script, ScriptedAnswer } from "./script.ts";

export interface ScriptedOptions {
  readonly name: string;
  readonly script: Script;
  readonly contextTokens: number | undefined;
  readonly clock: Clock;
}

/** A model that follows a script instead of thinking; no request leaves the process. */
export function openScriptedModel({ name, script, contextTokens, clock }: ScriptedOptions): Model {
  const attempts = new Map<number, number>();
  return {
    provider: "scripted",
    name,
    contextTokens: contextTokens ?? script.context_tokens,
    price: undefined,
    async *stream(request, signal) {
      let sawText = false;
      const dropped: string[] = [];
      try {
        signal.throwIfAborted();
        yield { type: "request-sent", prefix: [hashOf(request.tools), ...request.messages.map(hashOf)] };
        const picked = pickAnswer(script, request.messages.map(toLine));
        const { answer, place } = picked;
        const tried = (attempts.get(place) ?? 0) + 1;
        attempts.set(place, tried);
        for await (const event of answer === undefined ? [] : pieces(answer, picked, clock, signal)) {
          if (event.type === "text-delta") sawText = true;
          if (event.type === "tool-call-start") dropped.push(event.tool);
          yield event;
        }
        signal.throwIfAborted();
        const failure = failureOf(answer, picked, tried);
        if (failure !== undefined) yield failed({ ...failure, sawText, droppedTools: dropped });
        else if (answer !== undefined) yield messageEnd(answer, picked);
      } catch (error) {
        if (!signal.aborted) throw error; // nothing else can fail here
        const message = "The request was stopped.";
        const hint = "Send a message to go on.";
        yield failed({ kind: "aborted", message, hint, ...NO_FACTS, sawText, droppedTools: dropped });
      }
    },
  };
}

const NO_FACTS = { status: undefined, retryAfterMs: undefined };

async function* pieces(
  answer: ScriptedAnswer,
  { number, place }: Picked,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  async function* cut(text: string): AsyncGenerator<string> {
    for (let start = 0; start < text.length; start += answer.chunk) {
      if (answer.delay_ms > 0) await clock.sleep(answer.delay_ms, signal);
      signal.throwIfAborted();
      yield text.slice(start, start + answer.chunk);
    }
  }
  for await (const text of cut(fillIn(answer.reasoning, number))) yield { type: "reasoning-delta", text };
  for await (const text of cut(fillIn(answer.text, number))) yield { type: "text-delta", text };
  for (const { callId, tool, input } of callsOf(answer, number, place)) {
    yield { type: "tool-call-start", callId, tool };
    for await (const text of cut(input)) yield { type: "tool-input-delta", callId, text };
  }
}

function messageEnd(answer: ScriptedAnswer, { number, place }: Picked): ModelEvent {
  const isCut = answer.finish === "length" || answer.finish === "window";
  const calls = callsOf(answer, number, place);
  const whole = isCut ? calls.filter(({ input }) => parseObject(input) !== undefined) : calls;
  const reasoning = fillIn(answer.reasoning, number);
  const text = fillIn(answer.text, number);
  const parts: AssistantMessage["parts"] = [
    ...(reasoning === "" ? [] : [{ type: "reasoning", text: reasoning } as const]),
    ...(text === "" ? [] : [{ type: "text", text } as const]),
    ...whole,
  ];
  const { usage } = answer;
  return {
    type: "message-end",
    message: { role: "assistant", parts },
    finish: answer.finish ?? (calls.length > 0 ? "tool-calls" : "stop"),
    usage: {
      inputTokens: usage.input,
      cacheReadTokens: usage.cache_read,
      cacheWriteTokens: usage.cache_write,
      outputTokens: usage.output,
      reasoningTokens: usage.reasoning,
    },
    droppedTools: calls.filter((call) => !whole.includes(call)).map(({ tool }) => tool),
  };
}

function callsOf({ tools }: ScriptedAnswer, number: number, place: number): ToolCallPart[] {
  return tools.map(({ name, input }, index) => ({
    type: "tool-call",
    callId: `scripted_${place}_${index}`,
    tool: name,
    input: fillIn(typeof input === "string" ? input : JSON.stringify(input), number),
  }));
}

function failureOf(
  answer: ScriptedAnswer | undefined,
  { number }: Picked,
  tried: number,
): Omit<ModelFailure, "sawText" | "droppedTools"> | undefined {
  if (answer === undefined) {
    const message = `The script has no answer number ${number}.`;
    return {
      kind: "refused",
      message,
      hint: "Add answers to the script, or start a new conversation.",
      ...NO_FACTS,
    };
  }
  const { fail } = answer;
  if (fail !== undefined && tried <= (fail.attempts ?? Number.POSITIVE_INFINITY)) {
    const message = fail.message ?? `The script says that this request fails (${fail.kind}).`;
    const hint = "This is a scripted model; look at its script.";
    return { kind: fail.kind, message, hint, status: fail.status, retryAfterMs: fail.retry_after_ms };
  }
  if (answer.text !== "" || answer.reasoning !== "" || answer.tools.length > 0 || answer.finish !== undefined)
    return undefined;
  return {
    kind: "empty",
    message: "scripted gave an empty answer.",
    hint: "Look at its script.",
    ...NO_FACTS,
  };
}

function failed(failure: ModelFailure): ModelEvent {
  return { type: "failed", failure };
}

function toLine(message: Message): Line {
  const isSteer = message.role === "user" && message.kind === "steer";
  const text = message.role === "user" ? textOf(message) : "";
  return { role: message.role, text, isSteer };
}
