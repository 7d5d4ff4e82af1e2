import type { Model } from "../provider.ts";
import { splitQuery } from "../routes/address.ts";
import { createWireModel, type WireOptions } from "../wire/wire-model.ts";
import { createGoogleReader } from "./google-answer.ts";
import { createGoogleWriter } from "./google-request.ts";

/** Opens a model behind a server that uses Gemini's generateContent. */
export function openGoogleModel(options: WireOptions): Model {
  const { name, baseUrl, apiKey } = options;
  const { base, search } = splitQuery(baseUrl);
  const path = name.includes("/") ? name : `models/${name}`;
  const url = new URL(
    `${base}/${path.split("/").map(encodeURIComponent).join("/")}:streamGenerateContent${search}`,
  );
  url.searchParams.set("alt", "sse");
  const writeBody = createGoogleWriter({ ...options, model: name });
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    "accept-encoding": "identity", // compression would only delay the pieces of the stream
    // Never in the address, where proxies and logs would see it.
    ...(apiKey === undefined ? {} : { "x-goog-api-key": apiKey }),
    ...options.headers,
  };
  return createWireModel(options, async () => (request) => ({
    write() {
      const { body, pieceHashes } = writeBody(request);
      return { url, headers, body, pieceHashes };
    },
    reader: createGoogleReader(),
  }));
}
