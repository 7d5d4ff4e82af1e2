import { z } from "zod";
import { ApiError } from "../api-error.ts";
import type { ApiParts } from "../api-parts.ts";
import type { ApiCall } from "../route.ts";
import { type ApiRuns, createRunId } from "../runs/api-runs.ts";
import { applyOnDisconnect, parseLastEventId, parseOnDisconnect, streamRun } from "../runs/follow-run.ts";
import {
  parseIdempotency,
  parseSessionName,
  requireEnded,
  runHeaders,
  SESSION_HEADER,
} from "../runs/run-headers.ts";
import type { Caller } from "../scope.ts";
import { messageSchema, parseMessages } from "./message-input.ts";
import { describeResponse, type ResponseFacts, responseId } from "./response-body.ts";
import { createItemCollector } from "./response-items.ts";
import { createResponseFormat } from "./response-stream.ts";

const never = new AbortController().signal;

/** Texts and messages; the items of an earlier output that clients send back are known to the session. */
const inputSchema = z.union([
  z.string(),
  z.array(z.union([messageSchema, z.looseObject({ type: z.string() })])).min(1),
]);

export const responseSchema = z.looseObject({
  model: z.string().optional(),
  input: inputSchema,
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
});

/** Answers in the format of OpenAI's responses. `store: false` keeps the response itself from being read again. */
export async function createResponse(
  parts: ApiParts,
  runs: ApiRuns,
  { caller, headers, body, disconnected }: ApiCall<z.infer<typeof responseSchema>>,
): Promise<Response> {
  if ((body.tools?.length ?? 0) > 0)
    throw new ApiError(
      400,
      "unsupported_parameter",
      "Responses run only the tools of the server; send your functions with a chat completion.",
      "tools",
    );
  const onDisconnect = parseOnDisconnect(headers.get("X-Hermes-On-Disconnect"));
  const { conversation, previous_response_id: previous } = body;
  const conversationId = typeof conversation === "string" ? conversation : conversation?.id;
  if (previous && conversationId)
    throw new ApiError(400, "conflicting_parameters", "Give previous_response_id or conversation, not both.");
  const input = await parseMessages(toMessages(body.input), parts.fetchImage, disconnected);
  const facts: ResponseFacts = {
    instructions: body.instructions ?? null,
    previousResponseId: previous ?? null,
    conversation: conversationId ?? null,
    metadata: body.metadata ?? {},
    store: body.store ?? true,
  };
  const named = parseSessionName(conversationId, "conversation");
  const sessionName = previous
    ? await findPreviousSession(parts, caller, previous)
    : (named && `conversation:${named}`) || parseSessionName(headers.get(SESSION_HEADER), SESSION_HEADER);
  const id = createRunId();
  const collector = createItemCollector(id);
  const run = await runs.start({
    ...input,
    id,
    instructions: [body.instructions ?? "", input.instructions].filter((text) => text !== "").join("\n\n"),
    kind: "response",
    caller,
    model: body.model,
    sessionName,
    canAsk: false,
    idempotency: parseIdempotency(headers, ["response", body]),
    onEvent: (event) => void collector.add(event),
    async onEnd(ended, result) {
      collector.complete(result.text);
      const sessionId = ended.stored()?.sessionId;
      if (!facts.store || sessionId === undefined) return;
      await parts.database.addResponse(
        caller.id,
        {
          id: responseId(ended),
          sessionId,
          lastMessage: lastMessageOf(parts, sessionId),
          body: describeResponse(ended, facts, collector.items, result),
        },
        never,
      );
    },
  });
  applyOnDisconnect(run, onDisconnect, disconnected);
  if (body.stream) {
    const after = parseLastEventId(headers.get("Last-Event-ID"));
    return streamRun(run, createResponseFormat(run, facts), after, await runHeaders(run), parts);
  }
  const responseHeaders = await runHeaders(run);
  const result = await requireEnded(run);
  if (run.isReplay) collector.complete(result.text); // what is left of a response that was not stored
  const stored = parts.database.findResponse(caller.id, responseId(run))?.body;
  return Response.json(stored ?? describeResponse(run, facts, collector.items, result), {
    headers: responseHeaders,
  });
}

/** A stored response of the caller. */
export async function readResponse({ database }: ApiParts, { caller, params }: ApiCall): Promise<Response> {
  const response = requireResponse({ database }, caller, params["id"] ?? "");
  await database.useResponse(response.id, never);
  return Response.json(response.body);
}

export async function deleteResponse({ database }: ApiParts, { caller, params }: ApiCall): Promise<Response> {
  const { id } = requireResponse({ database }, caller, params["id"] ?? "");
  await database.deleteResponse(caller.id, id, never);
  return Response.json({ id, object: "response", deleted: true });
}

function requireResponse({ database }: Pick<ApiParts, "database">, caller: Caller, id: string) {
  const response = database.findResponse(caller.id, id);
  if (response === undefined) throw new ApiError(404, "response_not_found", `There is no response ${id}.`);
  return response;
}

/**
 * The session that continues after a response. If the session has gone on since, it is branched there, so that the model
 * sees exactly the conversation up to that response.
 */
export async function findPreviousSession(parts: ApiParts, caller: Caller, id: string): Promise<string> {
  const { sessionId, lastMessage } = requireResponse(parts, caller, id);
  await parts.database.useResponse(id, never);
  if (lastMessageOf(parts, sessionId) === lastMessage) return sessionId;
  const branch = await parts.sessions.history().branch(sessionId, { at: lastMessage }, parts.identity, never);
  await parts.database.addSession(caller.id, branch.id, [], never);
  return branch.id;
}

function lastMessageOf({ sessions }: ApiParts, sessionId: string): number {
  return (
    sessions
      .history()
      .readTranscript(sessionId)
      .findLast(({ number }) => number !== undefined)?.number ?? 0
  );
}

function toMessages(input: z.infer<typeof inputSchema>) {
  if (typeof input === "string") return [{ role: "user" as const, content: input }];
  return input.flatMap((item) => {
    const message = messageSchema.safeParse(item);
    if (message.success) return [message.data];
    const { type } = item as { readonly type: string };
    if (/^(reasoning|function_call|item_reference)$/.test(type)) return [];
    throw new ApiError(
      400,
      "unsupported_input_item",
      `An input item of the type ${type} is not supported.`,
      "input",
    );
  });
}
