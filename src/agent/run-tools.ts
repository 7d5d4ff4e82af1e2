import { closest } from "../lib/did-you-mean.ts";
import { AppError, messageOf } from "../lib/errors.ts";
import type { ToolCallPart } from "../providers/message.ts";
import { findTool } from "../tools/find-tool.ts";
import type { Tool, ToolResult } from "../tools/tool.ts";
import type { AgentEventOf, ToolEnd, ToolOutcome } from "./events.ts";
import { gather } from "./gather.ts";

/** How calls are judged and their results fitted; the same for all calls of a turn. */
export interface ToolRules {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Why a command must not run, in words for the model; undefined when it may. */
  judge(command: string): string | undefined;
  /** The result as the model gets it: no longer than it may be, the rest in a file. */
  fit(text: string, tool: string, signal: AbortSignal): Promise<string>;
}

const SIDE_BY_SIDE = 8;
/** How long a call may take to end once it is told to. */
const END_WITHIN_MS = 3_000;

type RunningEvent = AgentEventOf<"tool-progress"> | AgentEventOf<"tool-end">;

/**
 * Runs the calls of one answer: those that change something one after the other in their order, reads side by side
 * between them. No call begins before the event of its start was consumed.
 */
export async function* runTools(
  calls: readonly ToolCallPart[],
  rules: ToolRules,
  signal: AbortSignal,
): AsyncGenerator<AgentEventOf<"tools-start"> | RunningEvent> {
  for (const group of groupCalls(calls, rules.tools)) {
    if (!signal.aborted) yield { type: "tools-start", calls: group };
    yield* gather<ToolCallPart, RunningEvent>(group, async (call, tell) => {
      const onProgress = (text: string): void => tell({ type: "tool-progress", callId: call.callId, text });
      tell({ type: "tool-end", ...(await runOne(call, rules, onProgress, signal)) });
    });
  }
}

/** Calls that may run side by side, in the order of the answer. */
function groupCalls(calls: readonly ToolCallPart[], tools: ReadonlyMap<string, Tool>): ToolCallPart[][] {
  const groups: ToolCallPart[][] = [];
  let isOpen = false;
  for (const call of calls) {
    const tool = findTool(tools, call.tool);
    const isAlone = tool?.mutates || tool?.exclusive;
    const group = groups.at(-1);
    if (group !== undefined && isOpen && !isAlone && group.length < SIDE_BY_SIDE) group.push(call);
    else groups.push([call]);
    isOpen = !isAlone;
  }
  return groups;
}

async function runOne(
  call: ToolCallPart,
  rules: ToolRules,
  onProgress: (text: string) => void,
  signal: AbortSignal,
): Promise<ToolEnd> {
  const startedAt = performance.now();
  const end = (outcome: ToolOutcome, text: string, display?: string): ToolEnd => ({
    callId: call.callId,
    tool: call.tool,
    outcome,
    text,
    display,
    durationMs: Math.round(performance.now() - startedAt),
  });
  if (signal.aborted) return end("not-run", "Not run: the turn was stopped before.");
  const tool = findTool(rules.tools, call.tool);
  if (tool === undefined) return end("failed", describeUnknown(call.tool, rules.tools));
  for (const command of tool.commandsOf?.(call.input) ?? []) {
    const refusal = rules.judge(command);
    if (refusal !== undefined) return end("failed", refusal);
  }
  const result = await callTool(tool, call, onProgress, signal);
  if (result === undefined) return end("unknown", UNKNOWN_AFTER_STOP);
  const text = await rules.fit(result.text, tool.name, AbortSignal.timeout(END_WITHIN_MS));
  const outcome = signal.aborted ? "stopped" : result.failed ? "failed" : "ok";
  return end(outcome, text, result.display);
}

const UNKNOWN_AFTER_STOP =
  "The turn was stopped while this ran, and it did not say how it ended. Check before repeating it.";

/** Undefined when the call was told to end and did not. */
async function callTool(
  tool: Tool,
  { callId, input }: ToolCallPart,
  onProgress: (text: string) => void,
  signal: AbortSignal,
): Promise<ToolResult | undefined> {
  const done = tool.call(input, { callId, signal, onProgress }).catch((error: unknown): ToolResult => {
    if (signal.aborted) return { failed: true, text: "Stopped before it had a result." };
    const hint = error instanceof AppError ? ` ${error.hint}` : "";
    return { failed: true, text: JSON.stringify({ error: `${messageOf(error)}${hint}` }) };
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    const wait = (): void => {
      timer = setTimeout(() => resolve(undefined), END_WITHIN_MS);
    };
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true });
    void done.finally(() => signal.removeEventListener("abort", wait));
  });
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}

function describeUnknown(name: string, tools: ReadonlyMap<string, Tool>): string {
  const near = closest(name, tools.keys());
  const known = [...tools.keys()].join(", ");
  return `There is no tool "${name}".${near === undefined ? "" : ` Did you mean "${near}"?`} There are: ${known}.`;
}
