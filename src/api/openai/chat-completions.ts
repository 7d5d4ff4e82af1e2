import { z } from "zod";
import { ApiError } from "../api-error.ts";
import type { ApiParts } from "../api-parts.ts";
import type { ApiCall } from "../route.ts";
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
import { messageSchema, parseMessages } from "./message-input.ts";
import { chatUsage } from "./usage.ts";

export const chatSchema = z.looseObject({
  model: z.string().optional(),
  messages: z.array(messageSchema).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  n: z.number().nullish(),
  tools: z.array(z.unknown()).nullish(),
  functions: z.array(z.unknown()).nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
});

/** Answers a chat completion. The turn runs on the server, with its tools, and goes on when the client disconnects. */
export async function completeChat(
  parts: ApiParts,
  runs: ApiRuns,
  { caller, headers, body, disconnected }: ApiCall<z.infer<typeof chatSchema>>,
): Promise<Response> {
  requireNoTools(body.tools ?? body.functions);
  if ((body.n ?? 1) !== 1) throw new ApiError(400, "unsupported_parameter", "Only n = 1 is supported.", "n");
  if ((body.response_format?.type ?? "text") !== "text")
    throw new ApiError(400, "unsupported_parameter", "Only text is supported.", "response_format");
  const onDisconnect = parseOnDisconnect(headers.get("X-Hermes-On-Disconnect"));
  const sessionName = parseSessionName(headers.get(SESSION_HEADER), SESSION_HEADER);
  const input = await parseMessages(body.messages, parts.fetchImage, disconnected);
  const run = await runs.start({
    ...input,
    id: createRunId(),
    kind: "chat",
    caller,
    model: body.model,
    sessionName,
    canAsk: false,
    idempotency: parseIdempotency(headers, ["chat", sessionName, body]),
  });
  applyOnDisconnect(run, onDisconnect, disconnected);
  if (body.stream) {
    const format = createChatFormat(run, { includesUsage: body.stream_options?.include_usage ?? false });
    return streamRun(
      run,
      format,
      parseLastEventId(headers.get("Last-Event-ID")),
      await runHeaders(run),
      parts,
    );
  }
  const result = await requireEnded(run);
  return Response.json(describeCompletion(run, result), { headers: await runHeaders(run) });
}

function describeCompletion(run: ApiRun, result: RunResult) {
  return {
    id: completionId(run),
    object: "chat.completion",
    created: Math.floor(run.createdAt / 1_000),
    model: run.model,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: result.text, refusal: null },
        logprobs: null,
        finish_reason: finishReason(result),
      },
    ],
    usage: chatUsage(result),
  };
}

function completionId({ id }: ApiRun): string {
  return id.replace("run_", "chatcmpl-");
}

export function requireNoTools(tools: readonly unknown[] | null | undefined): void {
  if (tools === undefined || tools === null || tools.length === 0) return;
  throw new ApiError(
    400,
    "unsupported_parameter",
    "The server runs its own tools and calls no functions of the client. Send the request without tools.",
    "tools",
  );
}
