import { createParser } from "eventsource-parser";
import type { HttpAnswer } from "../../lib/http-exchange.ts";
import type { AnswerPart, FinishPart } from "./answer-part.ts";
import type { Attempt } from "./attempt.ts";
import { checkAnswer, notAnAnswer } from "./check-answer.ts";
import { type Fields, malformed } from "./fields.ts";
import { parseObject } from "./replayable-input.ts";
import type { WireCall } from "./wire-model.ts";

/** Reads one answer in one format. */
export interface AnswerReader {
  /** What an event means. Throws a `TroubleError` when it is an error, or not what the format allows. */
  take(data: string, event: string | undefined): readonly AnswerPart[];
  /** What an answer means that came as a whole; undefined when it is none. */
  takeWhole(body: Fields): readonly AnswerPart[] | undefined;
  /** True when nothing that still comes can matter. */
  readonly isOver: boolean;
  /** How the answer ended; undefined as long as it has not said so. */
  finish(): FinishPart | undefined;
}

/** A request as it goes out. */
export interface WrittenRequest {
  post(onSent: () => void): Promise<HttpAnswer>;
  /** What its prompt consists of, as hashes. */
  prefix(): readonly string[];
}

const LAST_WORDS_MS = 1_000; // for the usage, which may follow the end of an answer
const LARGEST_HEAD = 64 * 1024;
const LARGEST_EVENT = 16 * 1024 * 1024;

/** Sends a request and reads its answer as it streams in. */
export function streamCall(
  write: () => WrittenRequest | Promise<WrittenRequest>,
  reader: AnswerReader,
  attempt: Attempt,
): WireCall {
  let answer: HttpAnswer | undefined;
  let answering: Promise<HttpAnswer> | undefined;
  const decoder = new TextDecoder();
  const parts: AnswerPart[] = [];
  let nextPart = 0;
  let head: string | undefined = ""; // until the first event: what comes may not be a stream at all
  let isOver = false;
  const parser = createParser({
    maxBufferSize: LARGEST_EVENT,
    onError({ type }) {
      if (type === "max-buffer-size-exceeded") throw malformed(); // the others are lines that nobody needs to know
    },
    onEvent({ data, event }) {
      head = undefined;
      if (isOver || data.trim() === "") return;
      parts.push(...reader.take(data, event));
      if (reader.isOver) end();
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
  /** Takes in a body that was not sent as a stream, or not under the name of one. */
  const takeBody = (begun: HttpAnswer, body: string): void => {
    if (isOver) return;
    if (/^\s*(?:data|event|id|retry|:)/.test(body)) {
      parser.feed(`${body}\n\n`);
    } else {
      const whole = parseObject(body);
      const taken = whole && reader.takeWhole(whole as Fields);
      if (taken === undefined) throw notAnAnswer(begun, body);
      parts.push(...taken);
    }
    end();
  };

  const begin = async (): Promise<HttpAnswer> => {
    if (answering === undefined) throw new Error("nothing was sent");
    const begun = await answering;
    attempt.arrived();
    const body = await checkAnswer(begun);
    if (body !== undefined) takeBody(begun, body);
    return begun;
  };
  /** Takes in what comes next. */
  const receive = async (): Promise<void> => {
    answer ??= await begin();
    if (isOver) return;
    attempt.waiting();
    const chunk = await (reader.finish() === undefined ? answer.read() : readLastWords(answer));
    attempt.arrived();
    if (chunk !== undefined) return feed(decoder.decode(chunk, { stream: true }));
    feed(`${decoder.decode()}\n\n`); // the last event may lack its end
    if (head !== undefined && head.trim() !== "" && !/^\s*:/.test(head)) takeBody(answer, head);
    end();
  };

  return {
    async send() {
      const request = await write();
      await new Promise<void>((onSent, onFailure) => {
        answering = request.post(onSent);
        answering.catch(onFailure);
      });
      return request.prefix();
    },
    async next() {
      while (nextPart === parts.length) {
        if (isOver) return undefined;
        nextPart = parts.length = 0;
        await receive();
      }
      return parts[nextPart++];
    },
    drain: async () => answer?.ended,
  };
}

/** The answer is whole, so whatever becomes of its connection takes nothing away from it. */
function readLastWords(answer: HttpAnswer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), LAST_WORDS_MS);
    const onRead = (chunk?: Buffer): void => {
      clearTimeout(timer);
      resolve(chunk);
    };
    answer.read().then(onRead, () => onRead());
  });
}
