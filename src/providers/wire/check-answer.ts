import { unknownEncoding } from "../../lib/http-decoder.ts";
import type { HttpAnswer } from "../../lib/http-exchange.ts";
import { TroubleError } from "./trouble-error.ts";

const LARGEST_ERROR_BODY = 64 * 1024;
const LARGEST_BODY = 16 * 1024 * 1024;

/**
 * Looks at the beginning of an answer. Throws a `TroubleError`, with as much of the body as can matter, when there is nothing
 * in it for us; resolves with its text when it came as a whole, and with undefined when it is a stream.
 */
export async function checkAnswer(answer: HttpAnswer): Promise<string | undefined> {
  const encoding = unknownEncoding(answer.header("content-encoding"));
  if (encoding !== undefined) throw new TroubleError({ type: "undecodable", encoding });
  const contentType = answer.header("content-type") ?? "";
  const isAnswer = answer.status >= 200 && answer.status < 300 && !/^text\/html\b/i.test(contentType);
  if (isAnswer && !/^application\/json\b/i.test(contentType)) return undefined;
  const body = await readText(answer, isAnswer ? LARGEST_BODY : LARGEST_ERROR_BODY);
  if (isAnswer) return body;
  throw notAnAnswer(answer, body);
}

/** What a body that is no answer says about the request. */
export function notAnAnswer({ status, header }: HttpAnswer, body: string): TroubleError {
  return new TroubleError({
    type: "http",
    status,
    contentType: header("content-type") ?? "",
    retryAfter: header("retry-after"),
    body: body.slice(0, LARGEST_ERROR_BODY),
  });
}

async function readText(answer: HttpAnswer, most: number): Promise<string> {
  const decoder = new TextDecoder();
  let body = "";
  for (let chunk = await answer.read(); chunk !== undefined; chunk = await answer.read()) {
    body += decoder.decode(chunk, { stream: true });
    if (body.length >= most) break;
  }
  return body;
}
