import type { Clock } from "../../lib/clock.ts";
import type { HttpClient } from "../../lib/http.ts";
import { createRedactor } from "../../lib/redact/redactor.ts";
import { classifyFailure, type Trouble } from "../classify-failure.ts";
import type { AssistantMessage } from "../message.ts";
import type { Model, ModelEvent, ModelPrice, ModelRequest } from "../provider.ts";
import type { RequestTimeouts } from "../timeouts.ts";
import type { AnswerPart } from "./answer-part.ts";
import { type Attempt, openAttempt } from "./attempt.ts";
import { type Answer, collectAnswer } from "./collect-answer.ts";
import { TroubleError } from "./trouble-error.ts";

const MOST_PAUSES = 20; // of one answer; a search that takes longer does not end

/** What every kind of server needs to be told. */
export interface WireOptions {
  /** As the settings name the provider. */
  readonly provider: string;
  readonly name: string;
  readonly baseUrl: string;
  /** The setting that the address comes from, or would. */
  readonly addressKey: string;
  readonly apiKey: string | undefined;
  /** How to set a key, where there is none. */
  readonly keyAdvice: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Members that are put into each body. */
  readonly requestOverrides: Readonly<Record<string, unknown>>;
  readonly timeouts: RequestTimeouts;
  readonly contextTokens: number | undefined;
  readonly price: ModelPrice | undefined;
  readonly http: HttpClient;
  readonly clock: Clock;
}

/** One request in one format, and what comes back. Its methods reject with whatever happened, and when it is aborted. */
export interface WireCall {
  /** Sends the request; when it has left, says what its prompt consists of, as hashes. */
  send(): Promise<readonly string[]>;
  /** The next part of the answer, undefined when it ended. */
  next(): Promise<AnswerPart | undefined>;
  /** Resolves or rejects when nothing more will come. */
  drain(): Promise<unknown>;
}

/** How requests are written and answers are read. */
export type WireFormat = (request: ModelRequest, attempt: Attempt) => WireCall;

/** A model behind HTTP: its time-outs, failures and answers, in whatever format. */
export function createWireModel(options: WireOptions, loadFormat: () => Promise<WireFormat>): Model {
  const { provider, name, addressKey, contextTokens, price, clock } = options;
  const redactor = createRedactor({ secrets: secretsOf(options) });
  const redact = (text: string) => redactor.redact(text);
  // Begun now, so that it is there when the first request is; a failure is told by that request.
  options.http.prepare();
  const loading = loadFormat();
  loading.catch(() => undefined);

  /** One request. Returns how it ended: with the whole answer, with an answer to go on with, or with trouble. */
  async function* exchange(
    request: ModelRequest,
    answer: Answer,
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent, AssistantMessage | Trouble | undefined> {
    let attempt: Attempt | undefined;
    let trouble: Trouble;
    try {
      const format = await loading;
      attempt = openAttempt(options, signal);
      signal.throwIfAborted();
      const call = format(request, attempt);
      yield { type: "request-sent", prefix: await call.send() };
      trouble = { type: "cut" };
      for (let part = await call.next(); part !== undefined; part = await call.next()) {
        if (part.type === "finish") {
          if (part.finishReason.unified === "error") break; // it says itself that it broke off
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
      // Also when whoever listens went away.
      attempt?.[Symbol.dispose]();
    }
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
        if (pauses > MOST_PAUSES) ended = { type: "paused", times: MOST_PAUSES };
        else ended = yield* exchange({ ...request, messages }, answer, signal);
      }
      if (ended === undefined) return;
      const failure = classifyFailure(signal.aborted ? { type: "aborted" } : ended, {
        provider,
        model: name,
        addressKey,
        keyAdvice: hasKeyHeader(options) ? undefined : options.keyAdvice,
        reasoningEffort: request.reasoningEffort,
        nowMs: clock.now(),
        redact,
      });
      const event: ModelEvent = {
        type: "failed",
        failure: { ...failure, droppedTools: answer.begunTools, sawText: answer.sawText },
      };
      yield event;
    },
  };
}

function troubleOf(error: unknown, answering: boolean): Trouble {
  if (error instanceof TroubleError) return error.trouble;
  return { type: "thrown", error, answering };
}

/** A header of the settings may be a key, whatever it is called. */
function hasKeyHeader({ headers }: WireOptions): boolean {
  return Object.keys(headers).some((name) => /auth|key|token|cookie/i.test(name));
}

function secretsOf({ apiKey, headers }: WireOptions): string[] {
  return [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)];
}
