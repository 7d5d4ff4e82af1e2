import type { LanguageModelV3, LanguageModelV3CallOptions } from "@ai-sdk/provider";

type Fetch = typeof globalThis.fetch;

export interface SdkRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Stops the SDK once its request is written; a single instance, because no caller sees it. */
const WRITTEN = new Error("the request is written");

/**
 * Uses the SDK only to write a request, because it implements the requirements of each of its vendor's models. The caller sends
 * the request and reads the answer itself, because with the SDK an unknown event type would end the answer.
 */
export function writeSdkRequest(
  connect: (fetch: Fetch) => LanguageModelV3,
  options: LanguageModelV3CallOptions,
): Promise<SdkRequest> {
  return new Promise((resolve, reject) => {
    const language = connect(async (input, init = {}) => {
      const headers = Object.fromEntries(new Headers(init.headers));
      const url = new URL(input instanceof Request ? input.url : input);
      resolve({ url, headers, body: typeof init.body === "string" ? init.body : "{}" });
      throw WRITTEN;
    });
    Promise.resolve(language.doStream(options)).catch(reject);
  });
}
