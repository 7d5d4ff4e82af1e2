import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { AgentEvent, AgentEventOf } from "../agent/events.ts";
import type { ToolRules } from "../agent/run-tools.ts";
import { runTurn, type Turn } from "../agent/run-turn.ts";
import type { TurnLimits } from "../agent/turn-limits.ts";
import type { Approval } from "../approvals/approval.ts";
import { AppError } from "../lib/errors.ts";
import type { ProcessIdentity } from "../lib/process/process-identity.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { UntrustedSources } from "../policy/untrusted/untrusted-sources.ts";
import type { FailoverModel } from "../providers/failures/failover.ts";
import type { ToolCallPart, UserMessage } from "../providers/message.ts";
import {
  type ModelFailure,
  NO_USAGE,
  type ReasoningEffort,
  type ToolDefinition,
} from "../providers/provider.ts";
import { cutTitle } from "../sessions/changes/session-title.ts";
import type { CompactionState, SessionDraft, SessionModel } from "../sessions/session.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { SessionTurn } from "../sessions/session-turn.ts";
import { findTool } from "../tools/find-tool.ts";
import { withUniqueCalls } from "./gate/unique-calls.ts";
import { remainingBudget, type SpendingCaps } from "./spending.ts";

export interface ConversationParts {
  readonly store: SessionStore;
  readonly session: SessionDraft;
  /** False for a new session, which is stored together with its first message. */
  readonly isStored: boolean;
  /** What a new session starts with: exchanges that took place elsewhere. */
  readonly earlierExchanges: readonly Exchange[];
  readonly identity: ProcessIdentity;
  readonly model: FailoverModel;
  /** Stored with the session once this model has answered; undefined if the session already has this model. */
  readonly newModel: SessionModel | undefined;
  readonly reasoningEffort: ReasoningEffort | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly rules: ToolRules;
  readonly haltsLoops: boolean;
  readonly maxDenials: number;
  readonly endsUnanswered: boolean;
  readonly spendingCaps: SpendingCaps;
  /** Whether a new session gets a title from its first message. */
  readonly isTitleCut: boolean;
  redact(text: string): string;
  readonly clock: Clock;
  /** How a turn compacts the conversation; `state` is what earlier compactions left. */
  createCompaction(state: CompactionState | undefined): Turn["compaction"];
  /** The state of the session's shell in its stored form; undefined until a command has run. */
  saveShell(): string | undefined;
  /** Returns the requests that tools have made since the previous call, and clears them. */
  takeAuxiliaryRequests: Turn["takeSpent"];
  /** Called after a request was sent, so that other work can be done while the model thinks. */
  onRequestSent(): void;
  readonly untrusted: UntrustedSources;
  onTurnEnd(): Promise<void>;
}

/** A message of a user and its answer. */
export interface Exchange {
  readonly parts: UserMessage["parts"];
  readonly answer: string;
}

/** One session, and the agent that answers in it. */
export interface Conversation {
  readonly sessionId: string;
  /**
   * Runs one turn and yields its events up to the answer. Each durable event is committed before it is yielded. If a
   * crash left a turn open, storing the new message closes that turn, and the model learns which calls did not finish.
   * A caller that chooses the id of the turn can find out after a crash whether the turn was stored.
   */
  runTurn(
    message: UserMessage,
    limits: TurnLimits,
    signal: AbortSignal,
    turnId?: string,
  ): AsyncGenerator<AgentEvent>;
  /** Undoes the last turn and returns its message, to be sent again. */
  undoLastTurn(signal: AbortSignal): Promise<UserMessage>;
  /** Adds a note to the running turn; the model sees it after the next tool results, at the latest in the next turn. */
  steer(text: string): void;
  /** Takes back the notes that the model has not seen, so that they can be sent in another way. */
  takeUnseenSteers(): readonly string[];
  /** Adds a fact about the environment for the model, after the next tool results in this turn or a later one. */
  tellModel(text: string): void;
  /** Why the model gave no answer at the end of the last turn; undefined if it answered. */
  failure(): ModelFailure | undefined;
}

export function createConversation(parts: ConversationParts): Conversation {
  const { store, session, identity, model, rules, haltsLoops, clock } = parts;
  const definitions = parseDefinitions(session);
  const steers: string[] = [];
  const facts: string[] = [];
  let { isStored, newModel } = parts;
  let failure: ModelFailure | undefined;
  let hasAnswered = false;
  let storedShell: string | undefined;

  async function* answerMessage(
    message: UserMessage,
    requested: TurnLimits,
    signal: AbortSignal,
    turnId: string = randomUUID(),
  ): AsyncGenerator<AgentEvent> {
    const maxCostUsd = remainingBudget(store.usage, parts.spendingCaps, {
      sessionId: session.id,
      now: clock.now(),
      maxCostUsd: requested.maxCostUsd,
    });
    const title = parts.isTitleCut ? cutTitle(message, parts.redact) : undefined;
    await using turn = await store.acquireTurn(
      isStored ? session.id : { ...session, title },
      identity,
      signal,
    );
    if (!isStored && parts.earlierExchanges.length > 0) {
      for (const event of eventsOf(parts.earlierExchanges, session))
        await turn.record(event, turn.lostSignal);
      isStored = true;
    }
    const turnEnd = new AbortController();
    const stop = AbortSignal.any([signal, turn.lostSignal, turnEnd.signal]);
    setMaxListeners(0, stop); // every request and call of the turn adds a listener
    // Another process may have continued the session since it was last loaded.
    const loaded = isStored ? store.loadSession(session.id) : undefined;
    const open = loaded?.openTurn;
    parts.untrusted.load(loaded?.untrusted ?? []);
    // A model that the user has just chosen does not count as a switch.
    const last = newModel === undefined ? store.routes.last(session.id) : undefined;
    model.startTurn({ last, isCostLimited: maxCostUsd !== undefined });
    const events = runTurn(
      {
        turnId,
        message,
        lookUp: async ({ call, started }, within) =>
          started
            ? lookUp(call, within)
            : describeQuestion(store.approvals.findByCall(session.id, call.callId)),
        interrupted: open && { turnId: open.turnId, pending: open.pendingCalls },
        ask: ({ messages, tools }, within) =>
          withUniqueCalls(
            model.stream(
              {
                messages,
                tools,
                conversationId: session.id,
                reasoningEffort: parts.reasoningEffort,
                maxOutputTokens: parts.maxOutputTokens,
              },
              within,
            ),
            (callId) => store.isCallKnown(session.id, callId),
          ),
        onAnswer(failed) {
          failure = failed;
          hasAnswered ||= failed === undefined;
        },
        model,
        rules,
        definitions,
        history: loaded?.messages ?? [{ role: "system", text: session.systemPrompt }],
        lastPrefix: loaded?.prefix ?? [],
        compaction: parts.createCompaction(loaded?.compaction),
        limits: { ...requested, maxCostUsd },
        haltsLoops,
        maxDenials: parts.maxDenials,
        endsUnanswered: parts.endsUnanswered,
        clock,
        takeSteers: () => [...facts.splice(0), ...steers.splice(0)],
        takeSpent: parts.takeAuxiliaryRequests,
      },
      stop,
    );
    try {
      for await (const next of events) {
        const event = withSources(next);
        // Committing ignores `stop`, so that a stopped turn still gets its turn-end event.
        if (event.type === "tool-end") await keepShell(turn);
        await turn.record(event, turn.lostSignal);
        if (event.type === "assistant") await keepModel(turn, event);
        if (event.type === "request-sent") parts.onRequestSent();
        isStored = true;
        yield event;
      }
    } finally {
      turnEnd.abort(); // a caller that stops iterating also stops the running calls
      await parts.onTurnEnd();
    }
  }

  /** Adds where the untrusted text of an event comes from, so that it is stored together with the text. */
  function withSources(event: AgentEvent): AgentEvent {
    if (event.type !== "turn-start" && event.type !== "tool-end") return event;
    const untrusted = parts.untrusted.takeNew();
    return untrusted.length === 0 ? event : { ...event, untrusted };
  }

  async function lookUp({ tool, callId }: ToolCallPart, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await findTool(rules.tools, tool)?.lookUp?.(callId, signal);
    } catch (error) {
      if (error instanceof AppError || signal.aborted) return undefined;
      throw error;
    }
  }

  /** Runs before the result of a call is committed: a folder that the model has seen must be restored after a crash. */
  async function keepShell(turn: SessionTurn): Promise<void> {
    const shell = parts.saveShell();
    if (shell === undefined || shell === storedShell) return;
    await turn.keepShell(shell, turn.lostSignal);
    storedShell = shell;
  }

  /** Stores the new model only after it has answered: with an unknown model name, the session could not be continued. */
  async function keepModel(turn: SessionTurn, answer: AgentEventOf<"assistant">): Promise<void> {
    if (newModel === undefined || !hasAnswered) return;
    if (answer.provider !== newModel.provider || answer.model !== newModel.model) return;
    await turn.keepModel(newModel, turn.lostSignal);
    newModel = undefined;
  }

  /** Reads the message before it undoes the turn: if no message can be read, nothing is changed. */
  async function undoLastTurn(signal: AbortSignal): Promise<UserMessage> {
    const history = store.history();
    const last = history
      .readTranscript(session.id)
      .findLast(
        ({ number, message }) =>
          number !== undefined && message.role === "user" && message.kind === undefined,
      );
    if (last?.message.role !== "user" || last.isDamaged)
      throw new AppError("turn-not-found", `Session ${session.id} has no message to send again.`);
    await history.undo(session.id, 1, identity, signal);
    return last.message;
  }

  return {
    sessionId: session.id,
    failure: () => failure,
    runTurn: answerMessage,
    undoLastTurn,
    steer: (text) => void steers.push(text),
    takeUnseenSteers: () => steers.splice(0),
    tellModel: (text) => void facts.push(text),
  };
}

/** The events that the exchanges would have had as turns of this session. They cost nothing, because no request was made. */
function eventsOf(exchanges: readonly Exchange[], { provider, model }: SessionDraft): AgentEvent[] {
  return exchanges.flatMap(({ parts, answer }): AgentEvent[] => {
    const turnId = randomUUID();
    const message = { role: "assistant", parts: [{ type: "text", text: answer }] } as const;
    const free = { usage: NO_USAGE, costUsd: undefined };
    return [
      { type: "turn-start", turnId, message: { role: "user", parts } },
      { type: "assistant", message, finish: "stop", provider, model, ...free },
      {
        ...{ type: "turn-end", turnId, outcome: "completed", text: answer, requests: 0, ...free },
        ...{ reason: undefined, hint: undefined },
      },
    ];
  });
}

function parseDefinitions({ id, toolsJson }: SessionDraft): ToolDefinition[] {
  try {
    return JSON.parse(toolsJson) as ToolDefinition[];
  } catch (cause) {
    throw new AppError("session-damaged", `The tools of session ${id} cannot be read.`, { cause });
  }
}

/** Describes the answer to the question about a call that never started. */
function describeQuestion(approval: Approval | undefined): string | undefined {
  if (approval === undefined || approval.state === "expired" || approval.state === "withdrawn")
    return undefined;
  if (approval.kind === "clarification")
    return approval.state === "answered"
      ? `The user has answered it in the meantime: ${approval.answer}`
      : "The question still waits for the user's answer.";
  if (approval.state === "approved")
    return "The user has approved it in the meantime: repeat the same call to run it.";
  if (approval.state === "denied")
    return `The user has denied it in the meantime${approval.answer === undefined ? "" : `: ${approval.answer}`}. Do not repeat it.`;
  return "The call waited for the user's approval, which is still missing.";
}
