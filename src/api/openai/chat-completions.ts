import { z } from "zod";
import type { AgentEvent } from "../../agent/events.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { type ToolCallPart, textOf } from "../../providers/message.ts";
import { addUsage, NO_USAGE, type Usage } from "../../providers/provider.ts";
import { ApiError } from "../api-error.ts";
import type { ApiParts } from "../api-parts.ts";
import type { ApiCall } from "../api-route.ts";
import { type ApiRun, type ApiRuns, createRunId } from "../runs/api-runs.ts";
import { applyOnDisconnect, parseLastEventId, parseOnDisconnect, streamRun } from "../runs/follow-run.ts";
import {
  parseIdempotency,
  parseSessionName,
  requireEnded,
  runHeaders,
  SESSION_HEADER,
} from "../runs/run-headers.ts";
import type { RunResult } from "../store/api-database.ts";
import { createChatFormat, finishReason } from "./chat-stream.ts";
import {
  type ClientCalls,
  type ClientResult,
  clientToolSchema,
  continueWaitingTurn,
  describeClientCalls,
} from "./client-tools.ts";
import { messageSchema, parseMessages } from "./message-input.ts";
import { chatUsage } from "./usage.ts";

export const chatSchema = z.looseObject({
  model: z.string().optional(),
  messages: z.array(messageSchema).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  n: z.number().nullish(),
  tools: z.array(clientToolSchema).max(128).nullish(),
  tool_choice: z.unknown().optional(),
  functions: z.array(z.unknown()).nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
});

/**
 * Answers a chat completion. The turn runs on the server, with its tools, and goes on when the client disconnects. If the model
 * calls a function of the client, the answer ends with that call and the turn waits; a request that ends with the results of
 * such calls continues it.
 */
export async function completeChat(
  parts: ApiParts,
  { runs, clientCalls }: { readonly runs: ApiRuns; readonly clientCalls: ClientCalls },
  call: ApiCall<z.infer<typeof chatSchema>>,
): Promise<Response> {
  const { headers, body, disconnected } = call;
  requireSupported(body);
  const onDisconnect = parseOnDisconnect(headers.get("X-Hermes-On-Disconnect"));
  const results = lastResults(body.messages);
  const continued = await continueWaitingTurn({ runs, clientCalls }, call.caller, results);
  const run = continued?.run ?? (await startChat(parts, { runs, clientCalls }, call));
  applyOnDisconnect(run, onDisconnect, disconnected);
  const callsIn = (event: AgentEvent): readonly ToolCallPart[] => clientCalls.callsFor(run.id, event);
  if (body.stream) {
    const includesUsage = body.stream_options?.include_usage ?? false;
    const format = createChatFormat(run, { includesUsage, clientCalls: callsIn });
    const from = continued === undefined ? parseLastEventId(headers.get("Last-Event-ID")) : continued.from;
    return streamRun(run, format, from, await runHeaders(run), { ...parts, disconnect: call.disconnect });
  }
  const responseHeaders = await runHeaders(run);
  const paused = await awaitClientCalls(run, continued?.from.after ?? 0, callsIn);
  if (paused !== undefined) return Response.json(describePause(run, paused), { headers: responseHeaders });
  return Response.json(describeCompletion(run, await requireEnded(run)), { headers: responseHeaders });
}

async function startChat(
  parts: ApiParts,
  { runs, clientCalls }: { readonly runs: ApiRuns; readonly clientCalls: ClientCalls },
  { caller, headers, body, disconnected }: ApiCall<z.infer<typeof chatSchema>>,
): Promise<ApiRun> {
  const sessionName = parseSessionName(headers.get(SESSION_HEADER), SESSION_HEADER);
  const input = await parseMessages(body.messages, parts.fetchImage, disconnected);
  const id = createRunId();
  const offered = body.tool_choice === "none" ? [] : (body.tools ?? []);
  const tools = clientCalls.createTools(id, offered);
  try {
    const run = await runs.start({
      ...input,
      id,
      kind: "chat",
      caller,
      model: body.model,
      sessionName,
      canAsk: false,
      tools,
      idempotency: parseIdempotency(headers, ["chat", sessionName, body]),
      onEnd: async () => clientCalls.end(id),
    });
    if (run.id !== id) clientCalls.end(id); // an earlier request has started the turn
    return run;
  } catch (error) {
    clientCalls.end(id);
    throw error;
  }
}

/** The results with which a request ends. */
function lastResults(messages: z.infer<typeof chatSchema>["messages"]): readonly ClientResult[] {
  const firstResult = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  return messages.slice(firstResult).map(({ tool_call_id: id, content }) => ({
    id: id ?? "",
    text: typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join(""),
  }));
}

/** What the model said and which calls the client has to run. */
interface Pause {
  readonly text: string;
  readonly calls: readonly ToolCallPart[];
  readonly usage: Usage;
}

/** Waits until the client has to run calls; undefined if the turn ends before. */
async function awaitClientCalls(
  { turn }: ApiRun,
  after: number,
  callsIn: (event: AgentEvent) => readonly ToolCallPart[],
): Promise<Pause | undefined> {
  let text = "";
  let usage = NO_USAGE;
  for await (const item of turn?.watch(after, neverAborted) ?? []) {
    if ("dropped" in item) continue;
    const { event } = item;
    if (event.type === "assistant") {
      text = [text, textOf(event.message)].filter((one) => one !== "").join("\n\n");
      usage = addUsage(usage, event.usage);
    }
    const calls = callsIn(event);
    if (calls.length > 0) return { text, calls, usage };
  }
  return undefined;
}

function describeCompletion(run: ApiRun, result: RunResult) {
  const message = { role: "assistant", content: result.text, refusal: null };
  return describeAnswer(run, message, finishReason(result), chatUsage(result));
}

function describePause(run: ApiRun, { text, calls, usage }: Pause) {
  const tool_calls = describeClientCalls(run.id, calls).map(({ index: _, ...call }) => call);
  const message = { role: "assistant", content: text === "" ? null : text, refusal: null, tool_calls };
  return describeAnswer(run, message, "tool_calls", chatUsage({ usage }));
}

function describeAnswer(run: ApiRun, message: object, finish: string, usage: object) {
  return {
    id: completionId(run),
    object: "chat.completion",
    created: Math.floor(run.createdAt / 1_000),
    model: run.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage,
  };
}

function completionId({ id }: ApiRun): string {
  return id.replace("run_", "chatcmpl-");
}

function requireSupported({ n, functions, response_format }: z.infer<typeof chatSchema>): void {
  const refuse = (message: string, param: string) =>
    new ApiError(400, "unsupported_parameter", message, param);
  if ((n ?? 1) !== 1) throw refuse("Only n = 1 is supported.", "n");
  if ((functions?.length ?? 0) > 0) throw refuse("Send functions as tools.", "functions");
  if ((response_format?.type ?? "text") !== "text")
    throw refuse("Only text is supported.", "response_format");
}
