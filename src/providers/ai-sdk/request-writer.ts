import type { LanguageModelV3, LanguageModelV3CallOptions } from "@ai-sdk/provider";

type Fetch = typeof globalThis.fetch;

/** A request as the SDK writes it. */
export interface SdkRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Ends the SDK's part when its request is written; made once, because nobody sees it. */
const WRITTEN = new Error("the request is written");

/**
 * Lets the SDK write requests, and nothing more: it knows what each model of its vendor wants. Sending and reading are ours,
 * because a new kind of event must not end an answer.
 */
export function createRequestWriter(
  connect: (fetch: Fetch) => LanguageModelV3,
): (options: LanguageModelV3CallOptions) => Promise<SdkRequest> {
  const calls = new WeakMap<AbortSignal, (request: SdkRequest) => void>();
  // One for all requests, because the SDK builds its schemas with it; the signal tells which request it is.
  const language = connect(async (input, init = {}) => {
    const onWritten = init.signal ? calls.get(init.signal) : undefined;
    if (onWritten === undefined) throw new Error("the SDK did not hand the signal on");
    const headers = Object.fromEntries(new Headers(init.headers));
    const url = new URL(input instanceof Request ? input.url : input);
    onWritten({ url, headers, body: typeof init.body === "string" ? init.body : "{}" });
    throw WRITTEN;
  });
  return (options) =>
    new Promise((resolve, reject) => {
      const { signal } = new AbortController();
      calls.set(signal, resolve);
      Promise.resolve(language.doStream({ ...options, abortSignal: signal })).catch(reject);
    });
}
