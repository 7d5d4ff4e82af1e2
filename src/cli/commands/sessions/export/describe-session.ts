import { mainArgument, parseObject } from "../../../../agent/main-argument.ts";
import { formatTime } from "../../../../lib/time/format-time.ts";
import type { ToolCallPart, ToolMessage } from "../../../../providers/message.ts";
import type { TranscriptEntry } from "../../../../sessions/transcript.ts";
import type { ExportedSession } from "./exported-session.ts";

/** The heading of an exported session. */
export function titleOf({ session, sanitise }: ExportedSession): string {
  return sanitise(session.title ?? `Session ${session.id}`);
}

/** The facts about a session that precede its messages, as labels and values. */
export function factsOf({
  session,
  usage,
  entries,
  sanitise,
}: ExportedSession): (readonly [string, string])[] {
  return [
    ["Session", session.id],
    ["Model", sanitise(`${session.provider}/${session.model}`)],
    ["Folder", sanitise(session.cwd)],
    ["Started", formatTime(session.createdAt)],
    ["Messages", String(entries.length)],
    ["Tokens", `${usage.inputTokens} in, ${usage.outputTokens} out`],
    ["Cost", `$${usage.costUsd.toFixed(4)}`],
  ];
}

/** The texts that are shown for a call. */
export interface ShownCall {
  readonly tool: string;
  readonly summary: string;
  readonly input: string;
  readonly result: string | undefined;
  readonly isDiff: boolean;
  readonly failed: boolean;
}

const SUMMARY_CHARS = 100;

/** Describes a call and its result. If the user saw a diff as the result, it replaces the text that the model got. */
export function describeCall(
  { tool, callId, input }: ToolCallPart,
  results: ReadonlyMap<string, { readonly message: ToolMessage; readonly display: string | undefined }>,
  show: ExportedSession["sanitise"],
): ShownCall {
  const result = results.get(callId);
  const main = show(mainArgument(input)).replace(/\s+/g, " ");
  const { command, ...others } = parseObject(input);
  const isOnlyCommand = typeof command === "string" && Object.keys(others).length === 0;
  const text = result?.display ?? result?.message.text;
  return {
    tool: show(tool),
    summary: main.length > SUMMARY_CHARS ? `${main.slice(0, SUMMARY_CHARS)}…` : main,
    input: show(isOnlyCommand ? command : prettyJson(input)),
    result: text === undefined ? undefined : show(text).trimEnd(),
    isDiff: result?.display !== undefined,
    failed: result?.message.failed ?? false,
  };
}

function prettyJson(text: string): string {
  const value = parseObject(text);
  return Object.keys(value).length === 0 ? text : JSON.stringify(value, undefined, 2);
}

/** Maps the id of each call to its result. */
export function resultsOf(entries: readonly TranscriptEntry[]) {
  return new Map(
    entries.flatMap(({ message, display }) =>
      message.role === "tool" ? [[message.callId, { message, display }] as const] : [],
    ),
  );
}
