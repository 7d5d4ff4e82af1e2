import { z } from "zod";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { ApiError } from "../api-error.ts";
import type { ApiParts } from "../api-parts.ts";
import type { ApiCall } from "../api-route.ts";
import type { Caller } from "../keys/caller.ts";
import { type ApiRun, type ApiRuns, createRunId } from "../runs/api-runs.ts";
import { applyOnDisconnect, parseLastEventId, parseOnDisconnect, streamRun } from "../runs/follow-run.ts";
import {
  parseIdempotency,
  parseSessionName,
  requireEnded,
  runHeaders,
  SESSION_HEADER,
} from "../runs/run-headers.ts";
import {
  type ClientCalls,
  type ClientResult,
  type ClientTool,
  continueWaitingTurn,
  fromResponseTool,
  responseToolSchema,
} from "./client-tools.ts";
import { type ClientMessage, messageSchema, parseMessages } from "./message-input.ts";
import { describeResponse, parseResponseId, type ResponseFacts, responseId } from "./response-body.ts";
import { createItemCollector, type ItemCollector, type ItemCollectorOptions } from "./response-items.ts";
import { createResponseFormat } from "./response-stream.ts";

/** Texts, messages, and the items of an earlier output that clients send back. */
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
  tools: z.array(responseToolSchema).max(128).nullish(),
  tool_choice: z.unknown().optional(),
});

const resultSchema = z.looseObject({
  type: z.literal("function_call_output"),
  call_id: z.string(),
  output: z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]),
});
const callSchema = z.looseObject({
  type: z.literal("function_call"),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
});

interface ResponseRunners {
  readonly runs: ApiRuns;
  readonly clientCalls: ClientCalls;
}

/**
 * Answers in the format of OpenAI's responses. `store: false` keeps the response itself from being read again. If the model calls a
 * function of the client, the response ends with that call and the turn waits; a request with its result continues it.
 */
export async function createResponse(
  parts: ApiParts,
  { runs, clientCalls }: ResponseRunners,
  call: ApiCall<z.infer<typeof responseSchema>>,
): Promise<Response> {
  const { caller, headers, body, disconnected } = call;
  const onDisconnect = parseOnDisconnect(headers.get("X-Hermes-On-Disconnect"));
  const { conversation, previous_response_id: previous } = body;
  const conversationId = typeof conversation === "string" ? conversation : conversation?.id;
  if (previous && conversationId)
    throw new ApiError(400, "conflicting_parameters", "Give previous_response_id or conversation, not both.");
  const facts: ResponseFacts = {
    instructions: body.instructions ?? null,
    previousResponseId: previous ?? null,
    conversation: conversationId ?? null,
    metadata: body.metadata ?? {},
    store: body.store ?? true,
    tools: body.tools ?? [],
  };
  const functions = body.tool_choice === "none" ? [] : (body.tools ?? []).map(fromResponseTool);
  const results = lastResults(body.input);
  const continued = await continueWaitingTurn({ runs, clientCalls }, caller, results);
  const started =
    continued === undefined
      ? await startResponse(parts, { runs, clientCalls }, call, { facts, functions })
      : undefined;
  const run = continued?.run ?? started?.run;
  if (run === undefined) throw new Error("a request without a run");
  applyOnDisconnect(run, onDisconnect, disconnected);
  const options: ItemCollectorOptions = {
    clientCalls: (event) => clientCalls.callsFor(run.id, event),
    hasFunctions: functions.length > 0,
  };
  const part = (continued?.pauses ?? 0) + 1;
  if (body.stream) {
    const from = continued?.from ?? parseLastEventId(headers.get("Last-Event-ID"));
    const format = createResponseFormat(run, facts, part, options);
    return streamRun(run, format, from, await runHeaders(run), { ...parts, disconnect: call.disconnect });
  }
  const responseHeaders = await runHeaders(run);
  const watched = createItemCollector(run.id, options);
  for await (const item of run.turn?.watch(0, neverAborted) ?? []) {
    if ("dropped" in item) continue;
    watched.add(item.event);
    if (!watched.isPaused() || item.id <= (continued?.from.after ?? 0)) continue;
    return Response.json(describeResponse(run, facts, watched, "paused"), { headers: responseHeaders });
  }
  const result = await requireEnded(run);
  // Of a very long turn, only the request that has started it has all items.
  const collector = run.isReplay ? watched : (started?.collector ?? watched);
  collector.complete(result.text);
  const stored = parts.database.findResponse(caller.id, responseId(run, part))?.body;
  return Response.json(stored ?? describeResponse(run, facts, collector, result), {
    headers: responseHeaders,
  });
}

async function startResponse(
  parts: ApiParts,
  { runs, clientCalls }: ResponseRunners,
  { caller, headers, body, disconnected }: ApiCall<z.infer<typeof responseSchema>>,
  { facts, functions }: { readonly facts: ResponseFacts; readonly functions: readonly ClientTool[] },
): Promise<{ readonly run: ApiRun; readonly collector: ItemCollector }> {
  const { previousResponseId: previous, conversation } = facts;
  const isStateless = previous === null && conversation === null;
  const input = await parseMessages(toMessages(body.input, isStateless), parts.fetchImage, disconnected);
  const named = parseSessionName(conversation ?? undefined, "conversation");
  const sessionName =
    previous !== null
      ? await findPreviousSession(parts, caller, previous)
      : (named && `conversation:${named}`) || parseSessionName(headers.get(SESSION_HEADER), SESSION_HEADER);
  const id = createRunId();
  const tools = clientCalls.createTools(id, functions);
  const collector = createItemCollector(id, {
    clientCalls: (event) => clientCalls.callsFor(id, event),
    hasFunctions: functions.length > 0,
  });
  try {
    const run = await runs.start({
      ...input,
      id,
      instructions: [facts.instructions ?? "", input.instructions].filter((text) => text !== "").join("\n\n"),
      kind: "response",
      caller,
      model: body.model,
      sessionName,
      canAsk: false,
      tools,
      idempotency: parseIdempotency(headers, ["response", body]),
      onEvent: (event) => void collector.add(event),
      async onEnd(ended, result) {
        clientCalls.end(id);
        collector.complete(result.text);
        const sessionId = ended.stored()?.sessionId;
        if (!facts.store || sessionId === undefined) return;
        await parts.database.addResponse(
          caller.id,
          {
            id: responseId(ended, collector.part()),
            sessionId,
            lastMessage: lastMessageOf(parts, sessionId),
            body: describeResponse(ended, facts, collector, result),
          },
          neverAborted,
        );
      },
    });
    if (run.id !== id) clientCalls.end(id); // an earlier request has started the turn
    return { run, collector };
  } catch (error) {
    clientCalls.end(id);
    throw error;
  }
}

/** The results of functions with which a request ends. */
function lastResults(input: z.infer<typeof inputSchema>): readonly ClientResult[] {
  if (typeof input === "string") return [];
  const items = input.map((item) => resultSchema.safeParse(item).data);
  return items.slice(items.lastIndexOf(undefined) + 1).flatMap((item) => toResult(item) ?? []);
}

/** A stored response of the caller. */
export async function readResponse({ database }: ApiParts, { caller, params }: ApiCall): Promise<Response> {
  const response = requireResponse({ database }, caller, params["id"] ?? "");
  await database.useResponse(response.id, neverAborted);
  return Response.json(response.body);
}

export async function deleteResponse({ database }: ApiParts, { caller, params }: ApiCall): Promise<Response> {
  const { id } = requireResponse({ database }, caller, params["id"] ?? "");
  await database.deleteResponse(caller.id, id, neverAborted);
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
  // A response that ended with a call of the client's function is not stored; its session is that of its run.
  const run = parts.database.findRun(caller.id, parseResponseId(id) ?? "");
  const isStored = parts.database.findResponse(caller.id, id) !== undefined;
  if (!isStored && run?.sessionId !== undefined) return run.sessionId;
  const { sessionId, lastMessage } = requireResponse(parts, caller, id);
  await parts.database.useResponse(id, neverAborted);
  if (lastMessageOf(parts, sessionId) === lastMessage) return sessionId;
  const branch = await parts.sessions
    .history()
    .branch(sessionId, { at: lastMessage }, parts.identity, neverAborted);
  await parts.database.addSession(caller.id, branch.id, [], neverAborted);
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

/**
 * The messages of an input. Calls and results that no turn waits for are read by the model as text, except the calls that the session
 * of the request knows.
 */
function toMessages(input: z.infer<typeof inputSchema>, isStateless: boolean) {
  if (typeof input === "string") return [{ role: "user" as const, content: input }];
  return input.flatMap((item): ClientMessage[] => {
    const message = messageSchema.safeParse(item);
    if (message.success) return [message.data];
    const result = toResult(resultSchema.safeParse(item).data);
    if (result !== undefined) return [{ role: "tool", content: result.text, tool_call_id: result.id }];
    const called = callSchema.safeParse(item).data;
    if (called !== undefined && isStateless) {
      const { call_id: id, name, arguments: words } = called;
      return [{ role: "assistant", tool_calls: [{ id, function: { name, arguments: words } }] }];
    }
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

function toResult(item: z.infer<typeof resultSchema> | undefined): ClientResult | undefined {
  if (item === undefined) return undefined;
  const { call_id: id, output } = item;
  return { id, text: typeof output === "string" ? output : output.map(({ text = "" }) => text).join("") };
}
