import type { HttpClient } from "../../lib/http/http-client.ts";
import { createRedactor } from "../../lib/redact/redactor.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { classifyFailure, type RequestTrouble } from "../failures/classify-failure.ts";
import type { RequestTimeouts } from "../failures/timeouts.ts";
import type { AssistantMessage } from "../message.ts";
import type { Model, ModelEvent, ModelPrice, ModelRequest, Usage } from "../provider.ts";
import { type Attempt, openAttempt } from "./attempt.ts";
import { type AnswerCollector, collectAnswer } from "./collect-answer.ts";
import { streamCall, type WireExchange } from "./stream-call.ts";
import { TroubleError } from "./trouble-error.ts";

const MAX_PAUSES = 20; // per answer; if the vendor's search pauses more often, it probably never ends

/** The options that all wire formats share. */
export interface WireOptions {
  readonly provider: string;
  readonly name: string;
  readonly baseUrl: string;
  /** The setting that contains the address, or that would override the provider's own address. */
  readonly addressKey: string;
  readonly apiKey: string | undefined;
  /** How to set a key, if there is none. */
  readonly keyHint: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestOverrides: Readonly<Record<string, unknown>>;
  readonly timeouts: RequestTimeouts;
  readonly contextTokens: number | undefined;
  readonly price: ModelPrice | undefined;
  readonly http: HttpClient;
  readonly clock: Clock;
}

export type WireFormat = (request: ModelRequest) => WireExchange;

/** Creates a model behind HTTP: handles timeouts, failures and pauses for every format. */
export function createWireModel(options: WireOptions, loadFormat: () => Promise<WireFormat>): Model {
  const { provider, name, addressKey, contextTokens, price, clock } = options;
  const redactor = createRedactor({ secrets: secretsOf(options) });
  const redact = (text: string) => redactor.redact(text);
  // Start loading now, so that the first request need not wait. If loading fails, that request reports it.
  options.http.prepare();
  const loading = loadFormat();
  loading.catch(() => undefined);

  /** Makes one request. Returns undefined after a complete answer, the message of a paused answer, or the trouble. */
  async function* exchange(
    request: ModelRequest,
    answer: AnswerCollector,
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent, AssistantMessage | RequestTrouble | undefined> {
    let attempt: Attempt | undefined;
    let trouble: RequestTrouble;
    let used: (() => Usage) | undefined;
    try {
      const format = await loading;
      attempt = openAttempt(options, signal);
      signal.throwIfAborted();
      const call = streamCall(format(request), options.http, attempt);
      used = call.usage;
      yield { type: "request-sent", prefix: await call.send() };
      trouble = { type: "cut" };
      for (let part = await call.next(); part !== undefined; part = await call.next()) {
        if (part.type === "finish") {
          if (part.reason === "error") break; // the server reports that its answer is cut
          const paused = answer.pause(part);
          const end = paused === undefined ? answer.finish(part) : undefined;
          if (paused !== undefined || end !== undefined) attempt.letEnd(call.drain());
          if (paused !== undefined) return paused;
          if (end !== undefined) {
            yield end;
            return undefined;
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
      // Also runs when the consumer stops reading.
      attempt?.[Symbol.dispose]();
    }
    if (used !== undefined) answer.addUsage(used());
    const reason: unknown = attempt?.signal.reason;
    return reason instanceof TroubleError ? reason.trouble : trouble;
  }

  return {
    provider,
    name,
    contextTokens,
    price,
    async *stream(request, signal) {
      const answer = collectAnswer(request.messages);
      let ended = yield* exchange(request, answer, signal);
      for (let pauses = 1; ended !== undefined && "role" in ended; pauses++) {
        const messages = [...request.messages, ended];
        if (pauses > MAX_PAUSES) ended = { type: "paused", times: MAX_PAUSES };
        else ended = yield* exchange({ ...request, messages }, answer, signal);
      }
      if (ended === undefined) return;
      const failure = classifyFailure(signal.aborted ? { type: "aborted" } : ended, {
        provider,
        model: name,
        addressKey,
        keyHint: hasKeyHeader(options) ? undefined : options.keyHint,
        reasoningEffort: request.reasoningEffort,
        nowMs: clock.now(),
        redact,
      });
      const { startedTools: droppedTools, sawText, usage } = answer;
      yield { type: "failed", failure: { ...failure, droppedTools, sawText, usage } };
    },
  };
}

function troubleOf(error: unknown, answering: boolean): RequestTrouble {
  if (error instanceof TroubleError) return error.trouble;
  return { type: "thrown", error, answering };
}

function hasKeyHeader({ headers }: WireOptions): boolean {
  return Object.keys(headers).some((name) => /auth|key|token|cookie/i.test(name));
}

function secretsOf({ apiKey, headers }: WireOptions): string[] {
  return [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)];
}
