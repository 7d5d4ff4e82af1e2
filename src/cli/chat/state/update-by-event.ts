import type { AgentEvent, AgentEventOf } from "../../../agent/events.ts";
import { mainArgument } from "../../../agent/main-argument.ts";
import { PLAN_MODE } from "../../../conversation/prompt/plan-mode.ts";
import { firstTextOf, textOf, type UserMessage } from "../../../providers/message.ts";
import type { Usage } from "../../../providers/provider.ts";
import { formatCompaction, formatRetry, formatSwitch } from "../../terminal/event-view.ts";
import type { ChatState, RunningTurn, Update } from "./chat-state.ts";
import type { EndedCall, Entry } from "./entry.ts";
import { bodyOfResult, summaryOfResult } from "./result-text.ts";
import { result } from "./update.ts";

/** The next state after an event of the agent, and what to print. */
export function updateByEvent(state: ChatState, event: AgentEvent, now: number): Update {
  const active = (activity: RunningTurn["activity"]): ChatState => ({
    ...state,
    turn: {
      startedAt: state.turn?.startedAt ?? now,
      activity: state.turn?.activity === "stopping" ? "stopping" : activity,
      activeAt: now,
    },
  });
  switch (event.type) {
    case "turn-start":
      return result({ ...active("waiting"), steers: [], offer: undefined, failedWrites: [] }, [
        {
          kind: "user",
          text: firstTextOf(event.message),
          how: "sent",
          addedLines: countAdded(event.message),
        },
      ]);
    case "request-sent":
      return result(active("waiting"));
    case "reasoning-delta":
      // Reasoning between two parts of an answer is not shown, because it would break the answer.
      if (state.turn?.activity === "answering") return result(active("answering"));
      return result(
        active("thinking"),
        state.showsReasoning ? [{ kind: "reasoning", text: event.text }] : [],
      );
    case "text-delta":
      return result(active("answering"), [{ kind: "text", text: event.text }]);
    case "tool-call-start":
      return result(active("calling"));
    case "attempt-failed": {
      const isVoid = state.turn?.activity === "answering";
      const notice = isVoid
        ? `${formatRetry(event)} Ignore the unfinished text above: it will be written again.`
        : formatRetry(event);
      return result(active("waiting"), [{ kind: "text-end" }, { kind: "notice", text: notice }]);
    }
    case "assistant":
      return result(
        {
          ...active("calling"),
          contextUsed: contextOf(event.usage) ?? state.contextUsed,
          costUsd: addCost(state.costUsd, event.costUsd),
        },
        [{ kind: "text-end" }],
      );
    case "call-reviewed":
      return result({ ...active("calling"), costUsd: addCost(state.costUsd, event.costUsd) });
    case "approval-asked": {
      const known = state.calls.find(({ callId }) => callId === event.approval.callId);
      const number = known?.number ?? state.lastCall + 1;
      const question = { approval: event.approval, number, askedAt: now, wasTooEarly: false };
      return result({ ...active("calling"), questions: [...state.questions, question] }, [
        { kind: "question", approval: event.approval, number, environment: environmentOf(state) },
      ]);
    }
    case "approval-answered": {
      const { id, state: end, answeredBy, answer } = event.approval;
      const by = answeredBy === undefined ? "" : ` by ${answeredBy}`;
      const why = answer === undefined ? "" : `: ${answer}`;
      return result(
        { ...active("calling"), questions: state.questions.filter(({ approval }) => approval.id !== id) },
        [{ kind: "answered", text: `${end}${by}${why}` }],
      );
    }
    case "tools-start":
      return startCalls(active("calling"), event, now);
    case "tool-progress":
      return result({
        ...active("calling"),
        calls: state.calls.map((call) =>
          call.callId === event.callId ? { ...call, progress: lastLine(event.text) } : call,
        ),
      });
    case "tool-end":
      return endCall(active("calling"), event, now);
    case "steer": {
      const text = textOf(event.message);
      const unseen = state.steers.filter((note) => !text.includes(note)); // typed while this one was stored
      return result({ ...active("waiting"), steers: unseen }, [{ kind: "user", text, how: "steer" }]);
    }
    case "notice":
      return result(state, [{ kind: "notice", text: event.text }]);
    case "route-switched": {
      const facts = state.facts && { ...state.facts, model: event.to.model };
      return result({ ...state, facts }, [{ kind: "notice", text: formatSwitch(event) }]);
    }
    case "compaction-start":
    case "compaction-failed":
      return result(active("waiting"), [{ kind: "notice", text: formatCompaction(event, "") }]);
    case "compaction":
      return result(
        {
          ...active("waiting"),
          contextUsed: event.tokensAfter,
          costUsd: addCost(state.costUsd, event.costUsd),
        },
        [{ kind: "notice", text: formatCompaction(event) }],
      );
    case "cache-broken":
      return result(state, [{ kind: "notice", text: `The provider's cache was lost: ${event.what}.` }]);
    case "turn-end":
      return endTurn(state, event);
  }
}

/** The number of lines that references have added to the text that the user has typed. */
function countAdded(message: UserMessage): number {
  const added = textOf(message).slice(firstTextOf(message).length).replace(PLAN_MODE, "").trim();
  return added === "" ? 0 : added.split("\n").length;
}

function startCalls(state: ChatState, { calls }: AgentEventOf<"tools-start">, now: number): Update {
  const started = calls.map(({ callId, tool, input }, index) => ({
    callId,
    number: state.lastCall + index + 1,
    tool,
    argument: mainArgument(input),
    startedAt: now,
    progress: undefined,
  }));
  return result({
    ...state,
    calls: [...state.calls, ...started],
    lastCall: state.lastCall + started.length,
  });
}

/** Ends a call. A denied call never started, but gets a number too, so that `/why` can name it. */
function endCall(state: ChatState, event: AgentEventOf<"tool-end">, now: number): Update {
  const running = state.calls.find(({ callId }) => callId === event.callId);
  const number = running?.number ?? state.lastCall + 1;
  const lost = state.cutOff.find(({ call }) => call.callId === event.callId)?.call;
  const { tool, outcome, denied } = event;
  const call = {
    callId: event.callId,
    number,
    tool,
    argument:
      running?.argument ??
      (lost === undefined ? withoutTool(denied?.summary ?? "", tool) : mainArgument(lost.input)),
    outcome,
    durationMs: running === undefined ? event.durationMs : now - running.startedAt,
    body: denied === undefined ? bodyOfResult(event) : "",
    summary: summaryOfResult(event),
  };
  return result(
    {
      ...state,
      calls: state.calls.filter(({ callId }) => callId !== event.callId),
      failedWrites: updateFailedWrites(state.failedWrites, call),
      lastCall: Math.max(state.lastCall, number),
    },
    [{ kind: "call", call }],
  );
}

function environmentOf({ facts }: ChatState): string {
  return facts === undefined || facts.environment === "local" ? (facts?.folder ?? "") : facts.environment;
}

/** The summary of a call without the name of its tool, which is shown before it. */
function withoutTool(summary: string, tool: string): string {
  return summary.startsWith(`${tool} `) ? summary.slice(tool.length + 1) : summary;
}

/** Ends the turn. Steers that the model has not seen are sent first, as the next messages. */
function endTurn(state: ChatState, event: AgentEventOf<"turn-end">): Update {
  const { outcome, reason, hint } = event;
  const entries: Entry[] = [{ kind: "text-end" }];
  if (outcome === "stopped") entries.push({ kind: "notice", text: "Stopped." });
  else if (reason !== undefined) entries.push({ kind: "error", text: reason, hint });
  if (state.failedWrites.length > 0)
    entries.push({
      kind: "notice",
      text: `Perhaps not written, because the call did not succeed: ${state.failedWrites.join(", ")}`,
    });
  if (state.mode === "plan" && outcome === "completed")
    entries.push({ kind: "notice", text: "Plan mode: nothing was changed. /plan go carries the plan out." });
  entries.push({ kind: "turn-end" });
  const { steers, isInterrupting } = state;
  // The message that stopped the turn goes before the steers that the turn has not seen.
  const [first, ...others] = state.queue;
  const queue =
    isInterrupting && first !== undefined ? [first, ...steers, ...others] : [...steers, ...state.queue];
  const [next, ...rest] = queue;
  const ended = { turn: undefined, calls: [], questions: [], steers: [], isInterrupting: false };
  const idle = { ...state, ...ended, queue };
  const sends = next !== undefined && !state.isQueueHeld && (isInterrupting || outcome === "completed");
  if (sends) return result({ ...idle, queue: rest }, entries, [{ type: "send", text: next }]);
  return result({ ...idle, isQueueHeld: queue.length > 0 }, entries);
}

const WRITING_TOOLS: ReadonlySet<string> = new Set(["write_file", "patch"]);

function updateFailedWrites(
  before: readonly string[],
  { tool, argument, outcome }: EndedCall,
): readonly string[] {
  if (!WRITING_TOOLS.has(tool) || argument === "") return before;
  const others = before.filter((path) => path !== argument);
  if (outcome === "ok") return others;
  return outcome === "failed" || outcome === "unknown" ? [...others, argument] : before;
}

function contextOf({ inputTokens, outputTokens }: Usage): number | undefined {
  return inputTokens === undefined ? undefined : inputTokens + (outputTokens ?? 0);
}

function addCost(sum: number | undefined, cost: number | undefined): number | undefined {
  return cost === undefined ? sum : (sum ?? 0) + cost;
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}
