import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { AgentEvent } from "../agent/events.ts";
import { runTurn, type TurnLimits } from "../agent/loop.ts";
import { recorded } from "../agent/recorder.ts";
import type { ToolRules } from "../agent/run-tools.ts";
import type { Clock } from "../lib/clock.ts";
import { AppError } from "../lib/errors.ts";
import type { ProcessIdentity } from "../lib/process-identity.ts";
import type { UserMessage } from "../providers/message.ts";
import type { ModelEvent, ModelFailure, ReasoningEffort, ToolDefinition } from "../providers/provider.ts";
import type { AttemptFailed, RetryingModel } from "../providers/with-retries.ts";
import type { LoadedSession, SessionDraft, SessionModel } from "../sessions/session.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { SessionTurn } from "../sessions/session-turn.ts";
import { findTool } from "../tools/find-tool.ts";
import { remainingBudget, type SpendingCaps } from "./spending.ts";

export interface ConversationParts {
  readonly store: SessionStore;
  readonly session: SessionDraft;
  /** False for a session that comes into being with its first message. */
  readonly isStored: boolean;
  readonly identity: ProcessIdentity;
  readonly model: RetryingModel;
  /** To be kept with the session once it has answered; undefined where the session has it already. */
  readonly newModel: SessionModel | undefined;
  readonly reasoningEffort: ReasoningEffort | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly rules: ToolRules;
  readonly haltsLoops: boolean;
  readonly spendingCaps: SpendingCaps;
  readonly clock: Clock;
  /** The state of the session's shell as it is to be stored; undefined while there is none. */
  saveShell(): string | undefined;
}

/** One session, and the agent that answers in it. */
export interface Conversation {
  readonly sessionId: string;
  /**
   * A turn: everything that happens until the answer, each durable event committed before it is handed on. A turn that
   * a crash left open ends when the message is stored, and its unfinished calls are reported to the model.
   */
  say(message: UserMessage, limits: TurnLimits, signal: AbortSignal): AsyncGenerator<AgentEvent>;
  /** A note for the running turn, which the model sees after the next results. */
  steer(text: string): void;
  /** Why the model gave no answer at the end of the last turn; undefined when it did. */
  failure(): ModelFailure | undefined;
}

export function createConversation(parts: ConversationParts): Conversation {
  const { store, session, identity, model, rules, haltsLoops, clock } = parts;
  const definitions = JSON.parse(session.toolsJson) as ToolDefinition[];
  const steers: string[] = [];
  let { isStored, newModel } = parts;
  let failure: ModelFailure | undefined;
  let hasAnswered = false;
  let keptShell: string | undefined;

  async function* run(
    message: UserMessage,
    asked: TurnLimits,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    const maxCostUsd = remainingBudget(store.usage, parts.spendingCaps, {
      sessionId: session.id,
      now: clock.now(),
      maxCostUsd: asked.maxCostUsd,
    });
    const limits = { ...asked, maxCostUsd };
    await using turn = await store.acquireTurn(isStored ? session.id : session, identity, signal);
    const over = new AbortController();
    const stop = AbortSignal.any([signal, turn.lost, over.signal]);
    setMaxListeners(0, stop); // everything that runs in the turn listens to it
    try {
      // Another process may have gone on with it since we looked last.
      const loaded = isStored ? store.loadSession(session.id) : undefined;
      yield* play(turn, message, loaded, limits, stop);
    } finally {
      over.abort(); // whoever stops listening stops what runs
    }
  }

  async function* play(
    turn: SessionTurn,
    message: UserMessage,
    loaded: LoadedSession | undefined,
    limits: TurnLimits,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    const open = loaded?.openTurn;
    const events = runTurn(
      {
        turnId: randomUUID(),
        message,
        lookUp: ({ callId, tool }, within) => lookUp(tool, callId, within),
        interrupted: open && { turnId: open.turnId, pending: open.pendingCalls },
        ask: (request, within) =>
          noted(
            model.stream(
              {
                ...request,
                conversationId: session.id,
                reasoningEffort: parts.reasoningEffort,
                maxOutputTokens: parts.maxOutputTokens,
              },
              within,
            ),
          ),
        model,
        rules,
        definitions,
        history: loaded?.messages ?? [{ role: "system", text: session.systemPrompt }],
        lastPrefix: loaded?.prefix ?? [],
        limits,
        haltsLoops,
        clock,
        takeSteers: () => steers.splice(0),
      },
      signal,
    );
    // A stop must not keep the end of the turn from being written down.
    const commit = async (event: AgentEvent): Promise<void> => {
      if (event.type === "tool-end") await keepShell(turn);
      await turn.record(event, turn.lost);
      if (event.type === "assistant") await keepModel(turn);
    };
    for await (const event of recorded(events, commit)) {
      isStored = true;
      yield event;
    }
  }

  /** A place that cannot be reached tells nothing. */
  async function lookUp(tool: string, callId: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await findTool(rules.tools, tool)?.lookUp?.(callId, signal);
    } catch (error) {
      if (error instanceof AppError || signal.aborted) return undefined;
      throw error;
    }
  }

  /** Before the result of a call is committed: a model that was told of a new folder must find itself in it again. */
  async function keepShell(turn: SessionTurn): Promise<void> {
    const shell = parts.saveShell();
    if (shell === undefined || shell === keptShell) return;
    await turn.keepShell(shell, turn.lost);
    keptShell = shell;
  }

  /** Only one that has answered: with a name that nobody knows, the session could not go on. */
  async function keepModel(turn: SessionTurn): Promise<void> {
    if (newModel === undefined || !hasAnswered) return;
    await turn.keepModel(newModel, turn.lost);
    newModel = undefined;
  }

  async function* noted<Event extends ModelEvent | AttemptFailed>(
    events: AsyncIterable<Event>,
  ): AsyncGenerator<Event> {
    failure = undefined;
    for await (const event of events) {
      if (event.type === "failed") ({ failure } = event);
      if (event.type === "message-end") hasAnswered = true;
      yield event;
    }
  }

  return {
    sessionId: session.id,
    failure: () => failure,
    say: run,
    steer: (text) => void steers.push(text),
  };
}
