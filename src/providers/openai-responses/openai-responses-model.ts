import type { Model, ModelFailure } from "../provider.ts";
import { splitQuery } from "../routes/address.ts";
import { withThinkTags } from "../wire/think-tags.ts";
import { createWireModel, type WireOptions } from "../wire/wire-model.ts";
import { createResponsesReader } from "./responses-answer.ts";
import { createResponsesWriter, type OptionalFields } from "./responses-request.ts";

/** Opens a model behind a server that uses OpenAI's Responses API. */
export function openOpenaiResponsesModel(options: WireOptions): Model {
  const { name, provider, baseUrl, apiKey } = options;
  const { base, search } = splitQuery(baseUrl);
  const url = new URL(`${base}/responses${search}`);
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    "accept-encoding": "identity", // compression would only delay the pieces of the stream
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...options.headers,
  };
  let fields: OptionalFields = { reasoning: !NOT_REASONING.test(name), summary: true, cacheKey: true };
  let writeBody = createResponsesWriter({ ...options, model: name, fields });
  const model = createWireModel(options, async () => (request) => ({
    write() {
      const { body, pieceHashes } = writeBody(request);
      return { url, headers, body, pieceHashes };
    },
    reader: withThinkTags(createResponsesReader(provider)),
  }));
  return {
    ...model,
    async *stream(request, signal) {
      for (let isDone = false; !isDone; ) {
        isDone = true;
        for await (const event of model.stream(request, signal)) {
          const refused = event.type === "failed" ? findRefusedField(event.failure, fields) : undefined;
          if (refused === undefined) yield event;
          else {
            fields = { ...fields, [refused]: false };
            writeBody = createResponsesWriter({ ...options, model: name, fields });
            isDone = false;
          }
        }
      }
    },
  };
}

/** Models of OpenAI that refuse a request for encrypted reasoning, because they do not reason. */
const NOT_REASONING = /^(?:gpt-[34]|chatgpt-|gpt-.*-chat)/;

const REFUSALS: { readonly [Field in keyof OptionalFields]: RegExp } = {
  reasoning: /encrypted[ _.]content/i,
  summary: /reasoning[ _.]summar/i,
  cacheKey: /prompt_cache_key/i,
};

/** The optional field that a server refused, so that the request can be sent again without it. */
function findRefusedField({ kind, message }: ModelFailure, fields: OptionalFields) {
  if (kind !== "refused" && kind !== "auth") return undefined;
  return (Object.keys(REFUSALS) as (keyof OptionalFields)[]).find(
    (field) => fields[field] && REFUSALS[field].test(message),
  );
}
