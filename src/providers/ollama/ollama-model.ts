import type { Model } from "../provider.ts";
import { splitQuery } from "../routes/address.ts";
import { withThinkTags } from "../wire/think-tags.ts";
import { createWireModel, type WireOptions } from "../wire/wire-model.ts";
import { createOllamaReader } from "./ollama-answer.ts";
import { createOllamaWriter, type OllamaRules } from "./ollama-request.ts";

export interface OllamaOptions extends WireOptions, Pick<OllamaRules, "windowTokens"> {}

/** Opens a model behind Ollama's own API, because its OpenAI-compatible one cannot set the context window. */
export function openOllamaModel(options: OllamaOptions): Model {
  const { name, baseUrl, apiKey } = options;
  const { base, search } = splitQuery(baseUrl);
  const url = new URL(`${base.replace(/\/(?:v1|api)$/, "")}/api/chat${search}`);
  const writeBody = createOllamaWriter({ ...options, model: name });
  const headers = {
    "content-type": "application/json",
    accept: "application/x-ndjson",
    "accept-encoding": "identity", // compression would only delay the pieces of the stream
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...options.headers,
  };
  return createWireModel(options, async () => (request) => ({
    write() {
      const { body, pieceHashes } = writeBody(request);
      return { url, headers, body, pieceHashes };
    },
    framing: "lines",
    reader: withThinkTags(createOllamaReader()),
  }));
}
