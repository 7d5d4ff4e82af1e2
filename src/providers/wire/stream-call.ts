import { createParser } from "eventsource-parser";
import type { HttpClient } from "../../lib/http/http-client.ts";
import { findUnsupportedEncoding } from "../../lib/http/http-decoder.ts";
import type { HttpResponse } from "../../lib/http/http-exchange.ts";
import type { Usage } from "../provider.ts";
import type { AnswerPart, FinishPart } from "./answer-part.ts";
import type { Attempt } from "./attempt.ts";
import { type JsonObject, parseObject } from "./json-object.ts";
import { createLineParser } from "./line-parser.ts";
import { TroubleError } from "./trouble-error.ts";

export interface AnswerReader {
  /** Converts an event to parts. Throws a `TroubleError` if the event reports an error or is invalid. */
  take(data: string, event: string | undefined): readonly AnswerPart[];
  /** Converts an answer that was not streamed to parts; undefined if the body is not an answer. */
  takeWhole(body: JsonObject): readonly AnswerPart[] | undefined;
  /** Whether all further events can be ignored. */
  readonly isOver: boolean;
  /** The token counts that have arrived so far. */
  readonly usage: Usage;
  /** How the answer ended; undefined until the server has reported it. */
  finish(): FinishPart | undefined;
}

export interface WrittenRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** The hashes of its prompt. */
  pieceHashes(): readonly string[];
}

/** One request in one format, and the reader of its answer. */
export interface WireExchange {
  write(): WrittenRequest | Promise<WrittenRequest>;
  readonly reader: AnswerReader;
  /** How the pieces of a stream are separated: as server-sent events (the default), or as one JSON object per line. */
  readonly framing?: "events" | "lines";
}

const SERVER_SENT = /^\s*(?:data|event|id|retry|:)/;
const TRAILER_TIMEOUT_MS = 1_000; // wait for the usage, which may follow the finish reason
const LARGEST_HEAD = 64 * 1024;
const LARGEST_EVENT = 16 * 1024 * 1024;

/** Sends a request and reads its answer. The methods reject on every failure, and when the attempt is aborted. */
export function streamCall(
  { write, reader, framing = "events" }: WireExchange,
  http: HttpClient,
  attempt: Attempt,
) {
  let answer: HttpResponse | undefined;
  let answering: Promise<HttpResponse> | undefined;
  const decoder = new TextDecoder();
  const parts: AnswerPart[] = [];
  let nextPart = 0;
  let head: string | undefined = ""; // the text before the first event, because the body may not be a stream
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  const take = (data: string, event: string | undefined): void => {
    if (isOver || data.trim() === "") return;
    head = undefined;
    parts.push(...reader.take(data, event));
    if (reader.isOver) end();
  };
  const refuseLong = (): never => {
    throw new TroubleError({ type: "malformed" });
  };
  const parser =
    framing === "lines"
      ? createLineParser({
          maxLength: LARGEST_EVENT,
          onLine: (line) => take(line, undefined),
          onTooLong: refuseLong,
        })
      : createParser({
          maxBufferSize: LARGEST_EVENT,
          onError({ type }) {
            // Other errors are unknown lines, which are ignored.
            if (type === "max-buffer-size-exceeded") refuseLong();
          },
          onEvent: ({ data, event }) => {
            head = undefined;
            take(data, event);
          },
        });
  const feed = (text: string): void => {
    if (head !== undefined && head.length < LARGEST_HEAD) head += text;
    parser.feed(text);
  };
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    const finish = reader.finish();
    if (finish !== undefined) parts.push(finish);
  };
  /** Reads a body that was not sent as a stream, or not with the content type of one. */
  const takeBody = (response: HttpResponse, body: string): void => {
    if (isOver) return;
    const isStream = framing === "lines" ? /^\s*\{.*\}\s*\n\s*\{/.test(body) : SERVER_SENT.test(body);
    if (isStream) {
      parser.feed(`${body}\n\n`);
    } else {
      const whole = parseObject(body);
      const taken = whole && reader.takeWhole(whole);
      if (taken === undefined) throw createHttpTrouble(response, body);
      parts.push(...taken);
    }
    end();
  };

  const awaitAnswer = async (): Promise<HttpResponse> => {
    if (answering === undefined) throw new Error("nothing was sent");
    const response = await answering;
    attempt.arrived();
    const body = await checkAnswer(response);
    if (body !== undefined) takeBody(response, body);
    return response;
  };
  const receive = async (): Promise<void> => {
    answer ??= await awaitAnswer();
    if (isOver) return;
    attempt.waiting();
    const bytes = await (reader.finish() === undefined ? answer.read() : readTrailer(answer));
    attempt.arrived();
    if (bytes !== undefined) return feed(decoder.decode(bytes, { stream: true }));
    feed(`${decoder.decode()}\n\n`); // the last event may lack its empty line
    if (head !== undefined && head.trim() !== "" && !/^\s*:/.test(head)) takeBody(answer, head);
    end();
  };

  /** Pieces of text that have arrived together become one part: every part costs a round through all layers above. */
  const takeNext = (): AnswerPart | undefined => {
    const first = parts[nextPart++];
    if (!isPlainDelta(first)) return first;
    let { delta } = first;
    for (let next = parts[nextPart]; continues(first, next); next = parts[++nextPart]) delta += next.delta;
    return delta === first.delta ? first : { ...first, delta };
  };

  return {
    /** Sends the request and resolves, once it is sent, with the hashes of its prompt. */
    async send(): Promise<readonly string[]> {
      const { url, headers, body, pieceHashes } = await write();
      await new Promise<void>((onSent, onFailure) => {
        answering = http.exchange(url, { method: "POST", headers, body, onSent }, attempt.signal);
        answering.catch(onFailure);
      });
      return pieceHashes();
    },
    /** The next part of the answer; undefined at its end. */
    async next(): Promise<AnswerPart | undefined> {
      while (nextPart === parts.length) {
        if (failure !== undefined) throw failure.error;
        if (isOver) return undefined;
        nextPart = parts.length = 0;
        await receive().catch((error: unknown) => {
          failure = { error }; // thrown after the parts that arrived before it
        });
      }
      return takeNext();
    },
    /** The token counts of an answer that may be incomplete. */
    usage: (): Usage => reader.usage,
    /** Resolves when the response has ended. */
    drain: async () => answer?.ended,
  };
}

type TextDelta = Extract<AnswerPart, { readonly type: "text-delta" | "reasoning-delta" }>;

/** Whether a part is text or reasoning and nothing else. */
function isPlainDelta(part: AnswerPart | undefined): part is TextDelta {
  return (
    (part?.type === "text-delta" || part?.type === "reasoning-delta") && part.providerMetadata === undefined
  );
}

function continues(first: TextDelta, next: AnswerPart | undefined): next is TextDelta {
  return isPlainDelta(next) && next.type === first.type && next.id === first.id;
}

/** Continues reading after the finish reason. The answer is complete, so a failure of the connection is ignored. */
function readTrailer(answer: HttpResponse): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), TRAILER_TIMEOUT_MS);
    const onRead = (chunk?: Buffer): void => {
      clearTimeout(timer);
      resolve(chunk);
    };
    answer.read().then(onRead, () => onRead());
  });
}

const LARGEST_ERROR_BODY = 64 * 1024;
const LARGEST_BODY = 16 * 1024 * 1024;

/**
 * Checks the status and headers of an answer. Throws a `TroubleError` with the start of the body if it is not an answer
 * of a model. Resolves with the body if the answer is JSON, and with undefined if it is a stream.
 */
async function checkAnswer(answer: HttpResponse): Promise<string | undefined> {
  const encoding = findUnsupportedEncoding(answer.header("content-encoding"));
  if (encoding !== undefined) throw new TroubleError({ type: "undecodable", encoding });
  const contentType = answer.header("content-type") ?? "";
  const isAnswer = answer.status >= 200 && answer.status < 300 && !/^text\/html\b/i.test(contentType);
  if (isAnswer && !/^application\/json\b/i.test(contentType)) return undefined;
  const body = await readText(answer, isAnswer ? LARGEST_BODY : LARGEST_ERROR_BODY);
  if (isAnswer) return body;
  throw createHttpTrouble(answer, body);
}

function createHttpTrouble({ status, header }: HttpResponse, body: string): TroubleError {
  return new TroubleError({
    type: "http",
    status,
    contentType: header("content-type") ?? "",
    retryAfter: header("retry-after"),
    body: body.slice(0, LARGEST_ERROR_BODY),
  });
}

async function readText(answer: HttpResponse, maxLength: number): Promise<string> {
  const decoder = new TextDecoder();
  let body = "";
  for (let chunk = await answer.read(); chunk !== undefined; chunk = await answer.read()) {
    body += decoder.decode(chunk, { stream: true });
    if (body.length >= maxLength) break;
  }
  return body;
}
