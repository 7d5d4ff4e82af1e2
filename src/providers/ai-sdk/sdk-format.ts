import { setImmediate as turnOfEventLoop } from "node:timers/promises";
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";
import type { ModelRequest } from "../provider.ts";
import type { AnswerPart } from "../wire/answer-part.ts";
import type { Attempt } from "../wire/attempt.ts";
import { checkAnswer } from "../wire/check-answer.ts";
import type { WireFormat } from "../wire/wire-model.ts";
import { prefixHashes } from "./prefix-hashes.ts";

type Fetch = typeof globalThis.fetch;

/** What the SDK must be told about a format. */
export interface SdkFormat {
  /** The SDK's model; it hands the signal of a call on to `fetch`. */
  connect(fetch: Fetch): LanguageModelV3;
  callOptions(request: ModelRequest): Omit<LanguageModelV3CallOptions, "abortSignal">;
  /** Headers that go out only if they have a value: the SDK insists on some. */
  readonly dropEmptyHeaders: readonly string[];
  /** Whether tool results and the prompt after them travel as one message. */
  readonly gathersNeighbours: boolean;
}

/** A format that the SDK writes and reads. */
export function createSdkFormat(format: SdkFormat, fetch: Fetch): WireFormat {
  const calls = new WeakMap<AbortSignal, { readonly attempt: Attempt; onSent(body: string): void }>();
  // One for all requests, because the SDK builds its schemas with it; the signal tells which request it is.
  const language = format.connect(async (input, init = {}) => {
    const call = init.signal ? calls.get(init.signal) : undefined;
    if (call === undefined) throw new Error("the SDK did not hand the signal on");
    const headers = new Headers(init.headers);
    for (const name of format.dropEmptyHeaders) if (headers.get(name) === "") headers.delete(name);
    // A redirect would carry the key to wherever it points.
    const responding = fetch(input, { ...init, headers: [...headers], redirect: "manual" });
    call.onSent(typeof init.body === "string" ? init.body : "{}");
    const response = await responding;
    call.attempt.arrived();
    const body = response.body === null ? null : watched(response.body, call.attempt);
    await checkAnswer(response.status, (name) => response.headers.get(name) ?? undefined, body ?? NOTHING);
    return new Response(body, { status: response.status, headers: [...response.headers] });
  });

  return (request, attempt) => {
    let reader: ReadableStreamDefaultReader<LanguageModelV3StreamPart> | undefined;
    let answering: ReturnType<LanguageModelV3["doStream"]> | undefined;
    const sent = new Promise<string>((onSent) => {
      calls.set(attempt.signal, { attempt, onSent });
    });
    return {
      async send() {
        const call = { ...format.callOptions(request), abortSignal: attempt.signal };
        const doing = Promise.resolve(language.doStream(call));
        doing.catch(() => undefined); // it is awaited below, unless the attempt ends first
        answering = doing;
        const body = await Promise.race([sent, attempt.aborted, doing.then(() => "{}")]);
        await turnOfEventLoop(); // so that the request is out before its hashes take their time
        return prefixHashes(body, format.gathersNeighbours);
      },
      async next() {
        if (reader === undefined) {
          if (answering === undefined) throw new Error("nothing was sent");
          const { stream } = await Promise.race([answering, attempt.aborted]);
          const opened = stream.getReader();
          reader = opened;
          // Ends a pending read at once, whatever the server does.
          attempt.aborted.catch(() => opened.cancel().catch(() => undefined));
        }
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return undefined;
          if (isAnswerPart(value)) return value;
        }
      },
      async drain() {
        while (reader !== undefined && !(await reader.read()).done);
      },
    };
  };
}

const ANSWER_PARTS = new Set<string>([
  "text-start",
  "text-delta",
  "text-end",
  "reasoning-start",
  "reasoning-delta",
  "reasoning-end",
  "tool-input-start",
  "tool-input-delta",
  "tool-call",
  "finish",
  "error",
] satisfies AnswerPart["type"][]);

/** The SDK also tells of its warnings, of raw chunks, and of tools that the vendor runs. */
function isAnswerPart(
  part: LanguageModelV3StreamPart,
): part is Extract<LanguageModelV3StreamPart, { type: AnswerPart["type"] }> {
  return ANSWER_PARTS.has(part.type);
}

const NOTHING: readonly Uint8Array[] = [];

/** Tells the attempt when we wait for the other side. */
function watched(body: ReadableStream<Uint8Array>, attempt: Attempt): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(stream) {
      attempt.waiting();
      const { done, value } = await reader.read();
      attempt.arrived();
      if (done) stream.close();
      else stream.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
