import { setImmediate as turnOfEventLoop } from "node:timers/promises";
import type { LanguageModelV3, LanguageModelV3CallOptions } from "@ai-sdk/provider";
import type { Clock } from "../../lib/clock.ts";
import { createRedactor } from "../../lib/redact/redactor.ts";
import { classifyFailure, type Trouble } from "../classify-failure.ts";
import type { Model, ModelEvent, ModelPrice, ModelRequest } from "../provider.ts";
import type { RequestTimeouts } from "../timeouts.ts";
import { AnswerError, type Attempt, openAttempt, StalledError } from "./attempt.ts";
import { collectAnswer } from "./collect-answer.ts";
import { prefixHashes } from "./prefix-hashes.ts";

/** What every kind of server needs to be told. */
export interface WireOptions {
  /** As the settings name the provider. */
  readonly provider: string;
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Members that are put into each body. */
  readonly requestOverrides: Readonly<Record<string, unknown>>;
  readonly timeouts: RequestTimeouts;
  readonly contextTokens: number | undefined;
  readonly price: ModelPrice | undefined;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
}

/** What differs between wire formats. */
export interface WireFormat {
  /** The SDK's model; it hands the signal of a call on to `fetch`. */
  connect(fetch: typeof globalThis.fetch): LanguageModelV3;
  callOptions(request: ModelRequest): Omit<LanguageModelV3CallOptions, "abortSignal">;
  readonly dropEmptyHeaders: readonly string[];
  /** Whether tool results and the prompt after them travel as one message. */
  readonly gathersNeighbours: boolean;
}

/** A model behind a wire format of the SDK. */
export function createSdkModel(options: WireOptions, loadFormat: () => Promise<WireFormat>): Model {
  const { provider, name, contextTokens, price, clock } = options;
  const redactor = createRedactor({ secrets: secretsOf(options) });
  const redact = (text: string) => redactor.redact(text);
  const attempts = new WeakMap<AbortSignal, Attempt>();
  // One for all requests, because the SDK builds its schemas with it; the signal tells which request it is.
  const fetchOfAttempt: typeof globalThis.fetch = (input, init) => {
    const attempt = init?.signal ? attempts.get(init.signal) : undefined;
    if (attempt === undefined) throw new Error("the SDK did not hand the signal on");
    return attempt.fetch(input, init);
  };
  // Begun now, so that it is there when the first request is; a failure is told by that request.
  const loading = loadFormat().then((format) => ({ ...format, language: format.connect(fetchOfAttempt) }));
  loading.catch(() => undefined);

  return {
    provider,
    name,
    contextTokens,
    price,
    async *stream(request, signal) {
      const answer = collectAnswer(request.messages);
      let attempt: Attempt | undefined;
      let trouble: Trouble;
      try {
        const format = await loading;
        attempt = openAttempt({ ...options, dropEmpty: format.dropEmptyHeaders }, signal);
        const { ended } = attempt;
        signal.throwIfAborted();
        attempts.set(attempt.signal, attempt);
        const call = { ...format.callOptions(request), abortSignal: attempt.signal };
        const answering = Promise.resolve(format.language.doStream(call));
        answering.catch(() => undefined); // it is awaited below, unless the attempt ends first
        const body = await Promise.race([attempt.sent, ended, answering.then(() => "{}")]);
        await turnOfEventLoop(); // so that the request is out before its hashes take their time
        yield { type: "request-sent", prefix: prefixHashes(body, format.gathersNeighbours) };

        const { stream } = await Promise.race([answering, ended]);
        const reader = stream.getReader();
        // Ends a pending read at once, whatever the server does.
        ended.catch(() => reader.cancel().catch(() => undefined));
        trouble = { type: "cut" };
        for (let next = await reader.read(); !next.done; next = await reader.read()) {
          const part = next.value;
          if (part.type === "error") {
            trouble = troubleOfPart(part.error);
            break;
          }
          if (part.type === "finish") {
            const end = answer.finish(part);
            if (end !== undefined) {
              attempt.letEnd(reader);
              yield end;
              return;
            }
            trouble = { type: "empty" };
            break;
          }
          const event = answer.take(part);
          if (event !== undefined) yield event;
        }
      } catch (error) {
        trouble = troubleOf(error, attempt?.answering ?? false);
      } finally {
        // Also when whoever listens went away.
        attempt?.[Symbol.dispose]();
      }
      const reason: unknown = attempt?.signal.reason;
      if (reason instanceof StalledError) trouble = troubleOf(reason, true);
      if (signal.aborted) trouble = { type: "aborted" };
      const failure = classifyFailure(trouble, { provider, model: name, nowMs: clock.now(), redact });
      const event: ModelEvent = {
        type: "failed",
        failure: { ...failure, droppedTools: answer.begunTools, sawText: answer.sawText },
      };
      yield event;
    },
  };
}

function troubleOf(error: unknown, answering: boolean): Trouble {
  if (error instanceof StalledError) {
    const { waitedMs, silent } = error;
    return { type: "stalled", waitedMs, silent };
  }
  if (error instanceof AnswerError) return error.trouble;
  // The SDK turns an error that is the first event of a stream into an exception.
  if (error instanceof Error && "responseBody" in error && typeof error.responseBody === "string")
    return { type: "error-event", payload: error.responseBody };
  return { type: "thrown", error, answering };
}

function troubleOfPart(error: unknown): Trouble {
  // The SDK's word for a stream that ended without a finish reason.
  if (error instanceof Error && error.name === "AI_InvalidResponseDataError") return { type: "cut" };
  return error instanceof Error
    ? { type: "thrown", error, answering: true }
    : { type: "error-event", payload: error };
}

function secretsOf({ apiKey, headers }: WireOptions): string[] {
  return [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)];
}
