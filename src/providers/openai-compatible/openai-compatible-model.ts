import { createParser } from "eventsource-parser";
import type { HttpAnswer } from "../../lib/http-exchange.ts";
import type { Model } from "../provider.ts";
import type { AnswerPart } from "../wire/answer-part.ts";
import type { Attempt } from "../wire/attempt.ts";
import { checkAnswer } from "../wire/check-answer.ts";
import { createWireModel, type WireCall, type WireOptions } from "../wire/wire-model.ts";
import { createChatReader } from "./chat-answer.ts";
import { type ChatBody, type ChatRules, createChatWriter } from "./chat-request.ts";

export interface OpenaiCompatibleOptions
  extends WireOptions,
    Pick<ChatRules, "replayReasoning" | "outputLimitField"> {
  /** A header that carries the conversation's id, for servers that keep their cache by it. */
  readonly conversationHeader: string | undefined;
}

/** A model behind a server that speaks the chat completions of OpenAI. */
export function openOpenaiCompatibleModel(options: OpenaiCompatibleOptions): Model {
  const { name, baseUrl, apiKey, fetch, conversationHeader } = options;
  const url = new URL(`${baseUrl}/chat/completions`);
  const write = createChatWriter({ ...options, model: name });
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...options.headers,
  };
  return createWireModel(options, async () => (request, attempt) => {
    const { conversationId } = request;
    return chatCall(write(request), attempt, (body, onSent) =>
      fetch.exchange(
        url,
        {
          method: "POST",
          headers:
            conversationHeader === undefined || conversationId === undefined
              ? headers
              : { ...headers, [conversationHeader]: conversationId },
          body,
          onSent,
        },
        attempt.signal,
      ),
    );
  });
}

function chatCall(
  body: ChatBody,
  attempt: Attempt,
  post: (body: string, onSent: () => void) => Promise<HttpAnswer>,
): WireCall {
  let answer: HttpAnswer | undefined;
  let answering: Promise<HttpAnswer> | undefined;
  const reader = createChatReader();
  const decoder = new TextDecoder();
  const parts: AnswerPart[] = [];
  let nextPart = 0;
  const parser = createParser({
    onEvent({ data }) {
      if (isOver) return;
      if (data.trim() === "[DONE]") end();
      else parts.push(...reader.take(data));
    },
  });
  let isOver = false;
  const end = (): void => {
    isOver = true;
    const finish = reader.finish();
    if (finish !== undefined) parts.push(finish);
  };

  const begin = async (): Promise<HttpAnswer> => {
    if (answering === undefined) throw new Error("nothing was sent");
    const begun = await answering;
    attempt.arrived();
    await checkAnswer(begun.status, begun.header, chunksOf(begun));
    return begun;
  };
  /** Takes in what comes next. */
  const receive = async (): Promise<void> => {
    answer ??= await begin();
    attempt.waiting();
    const chunk = await answer.read();
    attempt.arrived();
    if (chunk !== undefined) parser.feed(decoder.decode(chunk, { stream: true }));
    else if (!isOver) end();
  };

  return {
    async send() {
      await new Promise<void>((onSent, onFailure) => {
        answering = post(body.text, onSent);
        answering.catch(onFailure);
      });
      return body.prefix();
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

async function* chunksOf(answer: HttpAnswer): AsyncGenerator<Buffer> {
  for (let chunk = await answer.read(); chunk !== undefined; chunk = await answer.read()) yield chunk;
}
