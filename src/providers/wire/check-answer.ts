import { TroubleError } from "./trouble-error.ts";

const LARGEST_ERROR_BODY = 64 * 1024;

/** Throws a `TroubleError`, with as much of the body as can matter, unless the answer is a stream. */
export async function checkAnswer(
  status: number,
  header: (name: string) => string | undefined,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const contentType = header("content-type") ?? "";
  if (status >= 200 && status < 300 && !/^(?:text\/html|application\/json)\b/i.test(contentType)) return;
  const decoder = new TextDecoder();
  let body = "";
  for await (const chunk of chunks) {
    body += decoder.decode(chunk, { stream: true });
    if (body.length >= LARGEST_ERROR_BODY) break;
  }
  throw new TroubleError({ type: "http", status, contentType, retryAfter: header("retry-after"), body });
}
