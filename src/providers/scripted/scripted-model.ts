import type { Clock } from "../../lib/time/clock.ts";
import { hashOf } from "../ai-sdk/prefix-hashes.ts";
import { findStatedWindow } from "../failures/stated-window.ts";
import { type AssistantMessage, type Message, type ToolCallPart, textOf } from "../message.ts";
import type { Model, ModelEvent, ModelFailure } from "../provider.ts";
import { parseObject } from "../wire/json-object.ts";
import { fillTemplate, type MessageSummary, type PickedAnswer, pickAnswer } from "./pick-answer.ts";
import type { Script, ScriptedAnswer } from "./script.ts";

export interface ScriptedOptions {
  readonly name: string;
  readonly script: Script;
  readonly contextTokens: number | undefined;
  readonly clock: Clock;
}

/** A model that answers from a script; no request leaves the process. */
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
        const picked = pickAnswer(script, request.messages.map(toSummary));
        const { answer, answerIndex } = picked;
        const tried = (attempts.get(answerIndex) ?? 0) + 1;
        attempts.set(answerIndex, tried);
        for await (const event of answer === undefined ? [] : streamAnswer(answer, picked, clock, signal)) {
          if (event.type === "text-delta") sawText = true;
          if (event.type === "tool-call-start") dropped.push(event.tool);
          yield event;
        }
        signal.throwIfAborted();
        const failure = failureOf(answer, picked, tried);
        if (failure !== undefined)
          yield { type: "failed", failure: { ...failure, sawText, droppedTools: dropped } };
        else if (answer !== undefined) yield messageEnd(answer, picked);
      } catch (error) {
        if (!signal.aborted) throw error; // only an abort is expected here
        const stopped = fail("aborted", "The request was stopped.", "Send a message to continue.");
        yield { type: "failed", failure: { ...stopped, sawText, droppedTools: dropped } };
      }
    },
  };
}

async function* streamAnswer(
  answer: ScriptedAnswer,
  { number, answerIndex }: PickedAnswer,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  async function* chunksOf(text: string): AsyncGenerator<string> {
    for (let start = 0; start < text.length; start += answer.chunk) {
      if (answer.delay_ms > 0) await clock.sleep(answer.delay_ms, signal);
      signal.throwIfAborted();
      yield text.slice(start, start + answer.chunk);
    }
  }
  for await (const text of chunksOf(fillTemplate(answer.reasoning, number)))
    yield { type: "reasoning-delta", text };
  for await (const text of chunksOf(fillTemplate(answer.text, number))) yield { type: "text-delta", text };
  for (const { callId, tool, input } of callsOf(answer, number, answerIndex)) {
    yield { type: "tool-call-start", callId, tool };
    for await (const text of chunksOf(input)) yield { type: "tool-input-delta", callId, text };
  }
}

function messageEnd(answer: ScriptedAnswer, { number, answerIndex }: PickedAnswer): ModelEvent {
  const isCut = answer.finish === "length" || answer.finish === "window";
  const calls = callsOf(answer, number, answerIndex);
  const whole = isCut ? calls.filter(({ input }) => parseObject(input) !== undefined) : calls;
  const reasoning = fillTemplate(answer.reasoning, number);
  const text = fillTemplate(answer.text, number);
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

function callsOf({ tools }: ScriptedAnswer, number: number, answerIndex: number): ToolCallPart[] {
  return tools.map(({ name, input }, index) => ({
    type: "tool-call",
    callId: `scripted_${answerIndex}_${index}`,
    tool: name,
    input: fillTemplate(typeof input === "string" ? input : JSON.stringify(input), number),
  }));
}

type ScriptedFailure = Omit<ModelFailure, "sawText" | "droppedTools">;

function failureOf(
  answer: ScriptedAnswer | undefined,
  { number }: PickedAnswer,
  tried: number,
): ScriptedFailure | undefined {
  if (answer === undefined) {
    const hint = "Add answers to the script, or start a new conversation.";
    return fail("refused", `The script has no answer number ${number}.`, hint);
  }
  const { fail: wanted } = answer;
  if (wanted !== undefined && tried <= (wanted.attempts ?? Number.POSITIVE_INFINITY)) {
    const message = wanted.message ?? `The script makes this request fail (${wanted.kind}).`;
    const failure = fail(wanted.kind, message, "This is a scripted model; check its script.");
    const windowTokens = wanted.kind === "too-long" ? findStatedWindow(message) : undefined;
    return { ...failure, status: wanted.status, retryAfterMs: wanted.retry_after_ms, windowTokens };
  }
  if (answer.text !== "" || answer.reasoning !== "" || answer.tools.length > 0 || answer.finish !== undefined)
    return undefined;
  return fail("empty", "scripted gave an empty answer.", "Check its script.");
}

function fail(kind: ModelFailure["kind"], message: string, hint: string): ScriptedFailure {
  return { kind, message, hint, status: undefined, retryAfterMs: undefined };
}

function toSummary(message: Message): MessageSummary {
  const isSteer = message.role === "user" && message.kind === "steer";
  const text = message.role === "user" ? textOf(message) : "";
  return { role: message.role, text, isSteer };
}
