import type { Approval } from "../approvals/approval.ts";
import { findClosest } from "../lib/text/did-you-mean.ts";
import type { ToolCallPart, ToolMessage } from "../providers/message.ts";
import { findTool } from "../tools/find-tool.ts";
import { resultOfError, type Tool, type ToolResult } from "../tools/tool.ts";
import type { AgentEventOf, DecidedCall, ReviewCost, ToolOutcome } from "./events.ts";

/** The tools of a turn, the gate for their calls, and how their results are shortened. */
export interface ToolRules {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly gate: CallGate;
  /** Shortens a result to the length that the model may get, and writes the full text to a file. */
  fit(text: string, tool: string, signal: AbortSignal): Promise<string>;
}

/** Decides whether a call may run, before the call starts. */
export interface CallGate {
  /** Returns a stored question if only a person may decide. */
  decide(call: ToolCallPart, tool: Tool, signal: AbortSignal): Promise<DecidedCall | AskedCall>;
  /** Returns the requests to the reviewer since the previous call, and clears them. */
  takeReviews(): readonly ReviewCost[];
}

export interface AskedCall {
  readonly approval: Approval;
  /** Waits until the question is answered or expires. */
  answer(signal: AbortSignal): Promise<{ readonly approval: Approval; readonly decided: DecidedCall }>;
}

const MAX_PARALLEL = 8;
/** How long a call may take to end after it is aborted. */
const ABORT_GRACE_MS = 3_000;

type ToolEnd = AgentEventOf<"tool-end">;
type RunningEvent = AgentEventOf<"tool-progress"> | ToolEnd;
type QuestionEvent = AgentEventOf<"call-reviewed" | "approval-asked" | "approval-answered">;

/**
 * Runs the calls of one answer in order: calls that may change something one at a time, reads between them in parallel.
 * A call starts only after it was allowed and its `tools-start` event was consumed.
 */
export async function* runTools(
  calls: readonly ToolCallPart[],
  rules: ToolRules,
  signal: AbortSignal,
): AsyncGenerator<AgentEventOf<"tools-start"> | RunningEvent | QuestionEvent> {
  for (const group of groupCalls(calls, rules.tools)) {
    const { allowed, decisions } = yield* decideGroup(group, rules, signal);
    if (!signal.aborted && allowed.length > 0) yield { type: "tools-start", calls: allowed, decisions };
    yield* runInParallel<ToolCallPart, RunningEvent>(allowed, async (call, report) => {
      const onProgress = (text: string): void => report({ type: "tool-progress", callId: call.callId, text });
      report(await runOne(call, rules, onProgress, signal));
    });
  }
}

/** Decides about the calls one at a time, and ends each denied call. */
async function* decideGroup(
  group: readonly ToolCallPart[],
  { gate, tools }: ToolRules,
  signal: AbortSignal,
): AsyncGenerator<QuestionEvent | ToolEnd, { allowed: ToolCallPart[]; decisions: DecidedCall[] }> {
  const allowed: ToolCallPart[] = [];
  const decisions: DecidedCall[] = [];
  for (const call of group) {
    const tool = findTool(tools, call.tool);
    if (tool === undefined || signal.aborted) {
      allowed.push(call); // `runOne` reports the problem instead of running the call
      continue;
    }
    let decided = await gate.decide(call, tool, signal);
    for (const review of gate.takeReviews()) yield { type: "call-reviewed", callId: call.callId, ...review };
    if ("approval" in decided) {
      yield { type: "approval-asked", approval: decided.approval };
      const answered = await decided.answer(signal);
      yield { type: "approval-answered", approval: answered.approval };
      ({ decided } = answered);
    }
    const { verdict, message, reason } = decided.decision;
    if (verdict === "denied") yield { ...createToolEnd(call, message ?? reason), denied: decided };
    else {
      allowed.push(call);
      decisions.push(decided);
    }
  }
  return { allowed, decisions };
}

/** Creates the end event of a call; by default, of a call that was not run. */
export function createToolEnd(
  { callId, tool }: ToolCallPart,
  text: string,
  outcome: ToolOutcome = "not-run",
): ToolEnd {
  return { type: "tool-end", callId, tool, outcome, text, durationMs: 0 };
}

/** The message that gives the model the result of a call. */
export function createResultMessage({ callId, tool }: ToolCallPart, end: ToolEnd | undefined): ToolMessage {
  const text = end?.text ?? "No result.";
  return { role: "tool", callId, tool, text, failed: end?.outcome !== "ok" };
}

/** Groups calls that may run in parallel, in the order of the answer. */
function groupCalls(calls: readonly ToolCallPart[], tools: ReadonlyMap<string, Tool>): ToolCallPart[][] {
  const groups: ToolCallPart[][] = [];
  let isOpen = false;
  for (const call of calls) {
    const tool = findTool(tools, call.tool);
    const runsAlone = tool?.mutates || tool?.exclusive;
    const group = groups.at(-1);
    if (group !== undefined && isOpen && !runsAlone && group.length < MAX_PARALLEL) group.push(call);
    else groups.push([call]);
    isOpen = !runsAlone;
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
    ...createToolEnd(call, text, outcome),
    display,
    durationMs: Math.round(performance.now() - startedAt),
  });
  if (signal.aborted) return end("not-run", "Not run: the turn was stopped before this call started.");
  const tool = findTool(rules.tools, call.tool);
  if (tool === undefined) return end("failed", describeUnknown(call.tool, rules.tools));
  const result = await callTool(tool, call, onProgress, signal);
  if (result === undefined) return end("unknown", UNKNOWN_AFTER_STOP);
  const text = await rules.fit(result.text, tool.name, AbortSignal.timeout(ABORT_GRACE_MS));
  const isStopped = signal.aborted && result.continues !== true;
  const outcome = isStopped ? "stopped" : result.failed ? "failed" : "ok";
  return end(outcome, text, result.display);
}

const UNKNOWN_AFTER_STOP =
  "The turn was stopped while this call ran, and its outcome is unknown. Check what it did before you repeat it.";

/** Returns undefined if the call was aborted and did not end in time. */
async function callTool(
  tool: Tool,
  { callId, input }: ToolCallPart,
  onProgress: (text: string) => void,
  signal: AbortSignal,
): Promise<ToolResult | undefined> {
  const done = tool.call(input, { callId, signal, onProgress }).catch((error: unknown): ToolResult => {
    if (signal.aborted) return { failed: true, text: "Stopped before the call had a result." };
    return resultOfError(error);
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    const wait = (): void => {
      timer = setTimeout(() => resolve(undefined), ABORT_GRACE_MS);
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
  const near = findClosest(name, tools.keys());
  const known = [...tools.keys()].join(", ");
  return `There is no tool "${name}".${near === undefined ? "" : ` Did you mean "${near}"?`} Available tools: ${known}.`;
}

/** Runs all items in parallel and yields their reports as they arrive. */
async function* runInParallel<Item, Report>(
  items: readonly Item[],
  run: (item: Item, report: (value: Report) => void) => Promise<void>,
): AsyncGenerator<Report> {
  const reports: Report[] = [];
  let wake: (() => void) | undefined;
  let failure: { readonly error: unknown } | undefined;
  let running = items.length;
  const report = (value: Report): void => {
    reports.push(value);
    wake?.();
  };
  for (const item of items)
    run(item, report)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        running--;
        wake?.();
      });
  for (;;) {
    yield* reports.splice(0);
    if (reports.length > 0) continue;
    if (running === 0) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  if (failure) throw failure.error;
}
