import { z } from "zod";
import type { AgentEvent } from "../../agent/events.ts";
import type { ToolCallPart } from "../../providers/message.ts";
import type { Tool, ToolResult } from "../../tools/tool.ts";
import type { HostedTurn } from "../../turns/turn-host.ts";
import { ApiError } from "../api-error.ts";
import type { Caller } from "../keys/caller.ts";
import type { ApiRun, ApiRuns } from "../runs/api-runs.ts";
import type { StreamPosition } from "../runs/follow-run.ts";

/** A function of the client, which the model can call like a tool of the server. */
export const clientToolSchema = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string().regex(/^[\w-]{1,64}$/, "is not the name of a function"),
    description: z.string().max(10_000).optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
});

export type ClientTool = z.infer<typeof clientToolSchema>;

/** The same function in the format of responses. */
export const responseToolSchema = z.looseObject({
  type: z.string(),
  name: z.string().optional(),
  description: z.string().max(10_000).nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

export function fromResponseTool({
  type,
  name,
  description,
  parameters,
}: z.infer<typeof responseToolSchema>): ClientTool {
  const tool = clientToolSchema.safeParse({
    type,
    function: { name, ...(description && { description }), ...(parameters && { parameters }) },
  });
  if (tool.success) return tool.data;
  throw new ApiError(
    400,
    "unsupported_parameter",
    "Only functions with a name can be offered; the tools of the server need not be named.",
    "tools",
  );
}

const FORGET_AFTER_MS = 60_000;
const FIND_CALL_WITHIN_MS = 2_000;
/** How long a turn waits for the result of a call that the client runs. */
const RESULT_WITHIN_MS = 10 * 60_000;
const NOT_ANSWERED: ToolResult = { failed: true, text: "The client did not send a result in time." };

interface WaitingRun {
  readonly names: ReadonlySet<string>;
  readonly results: Map<string, { readonly result: Promise<string>; deliver(text: string): void }>;
}

/** Calls of functions that clients run. The turn waits; the next request of the client brings the results. */
export type ClientCalls = ReturnType<typeof createClientCalls>;

export function createClientCalls() {
  const runs = new Map<string, WaitingRun>();

  /** The slot of one result; the call or its result creates it, whichever comes first. */
  function placeOf({ results }: WaitingRun, callId: string) {
    const known = results.get(callId);
    if (known !== undefined) return known;
    let deliver = (_: string): void => undefined;
    const result = new Promise<string>((resolve) => {
      deliver = resolve;
    });
    const place = { result, deliver };
    results.set(callId, place);
    return place;
  }

  return {
    /** The functions of the client as tools of a run, until `end`. */
    createTools(runId: string, definitions: readonly ClientTool[]): readonly Tool[] {
      if (definitions.length === 0) return [];
      const run: WaitingRun = {
        names: new Set(definitions.map((tool) => tool.function.name)),
        results: new Map(),
      };
      runs.set(runId, run);
      return definitions.map(({ function: { name, description = "", parameters } }) => ({
        name,
        toolset: "client",
        description,
        inputSchema: parameters ?? { type: "object", properties: {} },
        mutates: false, // so that the client gets all calls of an answer at once
        async call(_input, { callId, signal }) {
          const late = AbortSignal.any([signal, AbortSignal.timeout(RESULT_WITHIN_MS)]);
          const ended = new Promise<undefined>((resolve) => {
            late.addEventListener("abort", () => resolve(undefined), { once: true });
          });
          const text = await Promise.race([placeOf(run, callId).result, ended]);
          return text === undefined ? NOT_ANSWERED : { failed: false, text };
        },
      }));
    },
    /** Call it when the turn has ended. Its calls are kept for a while, for responses that are still being written. */
    end: (runId: string): void => void setTimeout(() => runs.delete(runId), FORGET_AFTER_MS).unref(),
    /** Passes a result to its call; false if the run takes no results. */
    deliver(runId: string, callId: string, text: string): boolean {
      const run = runs.get(runId);
      if (run !== undefined) placeOf(run, callId).deliver(text);
      return run !== undefined;
    },
    /** The calls among those that start with an event that the client has to run. */
    callsFor(runId: string, event: AgentEvent): readonly ToolCallPart[] {
      const names = runs.get(runId)?.names;
      if (names === undefined || event.type !== "tools-start") return [];
      return event.calls.filter(({ tool }) => names.has(tool));
    },
  };
}

/** The result of a call, as a client sends it back. */
export interface ClientResult {
  readonly id: string;
  readonly text: string;
}

/** A turn that got the results that it waited for, and the position where its next answer begins. */
export interface ContinuedRun {
  readonly run: ApiRun;
  readonly from: StreamPosition;
  /** How often the turn had waited for the client before. */
  readonly pauses: number;
}

/** Passes results to the turn that waits for them; undefined if none does. */
export async function continueWaitingTurn(
  { runs, clientCalls }: { readonly runs: ApiRuns; readonly clientCalls: ClientCalls },
  caller: Caller,
  results: readonly ClientResult[],
): Promise<ContinuedRun | undefined> {
  const parsed = results.map(({ id, text }) => ({ ...parseClientCallId(id), text }));
  const [first] = parsed;
  const run = first?.runId === undefined ? undefined : runs.find(caller, first.runId);
  if (run?.turn === undefined || run.turn.state() === "ended") return undefined;
  const found = await findCall(
    run.turn,
    first?.callId,
    (event) => clientCalls.callsFor(run.id, event).length > 0,
  );
  if (found === undefined) return undefined;
  for (const { callId = "", text } of parsed) clientCalls.deliver(run.id, callId, text);
  return { run, from: { after: found.id, isNewStream: true }, pauses: found.pauses };
}

/** Finds the event with which a call started, and how many times the turn had waited for the client until then. */
async function findCall(
  turn: HostedTurn,
  callId: string | undefined,
  isPause: (event: AgentEvent) => boolean,
): Promise<{ readonly id: number; readonly pauses: number } | undefined> {
  let pauses = 0;
  for await (const item of turn.watch(0, AbortSignal.timeout(FIND_CALL_WITHIN_MS))) {
    if (!("event" in item) || item.event.type !== "tools-start") continue;
    if (isPause(item.event)) pauses++;
    if (item.event.calls.some((call) => call.callId === callId)) return { id: item.id, pauses };
  }
  return undefined;
}

/** The id of a call as the client sees it, which names its run. */
export function clientCallId(runId: string, callId: string): string {
  return `call_${runId.replace("run_", "")}_${callId}`;
}

function parseClientCallId(text: string): { readonly runId: string; readonly callId: string } | undefined {
  const { run, callId } = /^call_(?<run>[\da-f]{24})_(?<callId>.+)$/s.exec(text)?.groups ?? {};
  return run === undefined || callId === undefined ? undefined : { runId: `run_${run}`, callId };
}

/** Converts calls to the format of a chat completion. */
export function describeClientCalls(runId: string, calls: readonly ToolCallPart[]) {
  return calls.map(({ callId, tool, input }, index) => ({
    index,
    id: clientCallId(runId, callId),
    type: "function",
    function: { name: tool, arguments: input },
  }));
}
