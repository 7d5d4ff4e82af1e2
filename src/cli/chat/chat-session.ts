import type { AgentEvent } from "../../agent/events.ts";
import type { TurnLimits } from "../../agent/turn-limits.ts";
import type { App } from "../../app/app.ts";
import { openAppConversation } from "../../app/conversation.ts";
import { createEnvironmentFacts } from "../../app/environments/environments.ts";
import type { Surface } from "../../conversation/conversation-request.ts";
import type { OpenConversation } from "../../conversation/open-conversation.ts";
import { PLAN_MODE } from "../../conversation/prompt/plan-mode.ts";
import type { EnvironmentRegistry } from "../../environments/environment-registry.ts";
import type { Reporter } from "../../environments/environment-request.ts";
import type { PolicyState } from "../../policy/policy.ts";
import type { ImagePart, UserMessage } from "../../providers/message.ts";
import type { ReasoningEffort } from "../../providers/provider.ts";
import type { SessionChoice } from "../../sessions/resolve-session.ts";
import { TurnRedirected } from "../../tools/tool.ts";

/** The session and the model to open. Missing fields are taken from the session or the settings. */
export interface OpenRequest {
  readonly choice: SessionChoice;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly reasoning?: ReasoningEffort | undefined;
}

/** The current conversation of the chat, which `/new`, `/resume` and `/model` replace. */
export interface ChatSession extends AsyncDisposable {
  /** Closes the current conversation and opens another one. If that fails, the current one stays. */
  open(request: OpenRequest): Promise<OpenConversation>;
  current(): OpenConversation | undefined;
  /** Runs one turn; events arrive in order, the last one is `turn-end`. */
  run(text: string, images: readonly ImagePart[], onEvent: (event: AgentEvent) => void): Promise<void>;
  /** Runs a command of the user, even during a turn; the model does not see it. */
  runCommand(command: string, onEvent: (event: AgentEvent) => void): Promise<void>;
  /** Undoes the last turn of the session and returns its message. */
  undoLastTurn(): Promise<UserMessage>;
  /** Stops the running turn and the user's commands. */
  stop(): void;
  /** Stops the running turn for a new message; its command continues in the background. */
  redirect(): void;
}

export interface ChatSessionParts {
  readonly app: App;
  readonly environments: EnvironmentRegistry;
  readonly policy: PolicyState;
  readonly limits: TurnLimits;
  readonly cwd: string;
  readonly reporter: Reporter;
}

const SURFACE: Surface = {
  source: "cli",
  instructions: "You are in a chat in the user's terminal; answers are rendered as markdown.",
  canNotify: false,
  takesNotes: true,
  haltsLoops: false,
  showsText: true,
  whenApprovalNeeded: "ask",
  titledBy: "model",
};

export function createChatSession(parts: ChatSessionParts, signal: AbortSignal): ChatSession {
  const { app, environments, policy, limits, cwd, reporter } = parts;
  let current: OpenConversation | undefined;
  const running = new Set<AbortController>();
  const turns = new Set<AbortController>();
  const stop = (): void => {
    for (const controller of running) controller.abort();
  };
  async function runStoppable(
    action: (conversation: OpenConversation, stopping: AbortSignal) => Promise<void>,
    kind: "turn" | "command",
  ): Promise<void> {
    if (current === undefined) throw new Error("a turn was started before open()");
    const controller = new AbortController();
    running.add(controller);
    if (kind === "turn") turns.add(controller);
    try {
      await action(current, AbortSignal.any([signal, controller.signal]));
    } finally {
      running.delete(controller);
      turns.delete(controller);
    }
  }
  return {
    current: () => current,
    async open({ choice, model, provider, reasoning }) {
      const next = await openAppConversation(
        app,
        {
          environments,
          environment: createEnvironmentFacts(app, { cwd, reporter }),
          choice,
          model: { model, provider },
          surface: SURFACE,
          policy,
          reasoningEffort: reasoning,
        },
        signal,
      );
      await current?.[Symbol.asyncDispose]();
      current = next;
      return next;
    },
    run: (text, images, onEvent) =>
      runStoppable(async (conversation, stopping) => {
        const added = await conversation.loadParts(text, images, stopping);
        // A separate part, as in a one-shot run, because the first part is what the user has typed.
        const note = policy.isPlanning ? [{ type: "text", text: `\n\n${PLAN_MODE}` } as const] : [];
        const message: UserMessage = { role: "user", parts: [{ type: "text", text }, ...added, ...note] };
        for await (const event of conversation.runTurn(message, limits, stopping)) onEvent(event);
      }, "turn"),
    runCommand: (command, onEvent) =>
      runStoppable(async (conversation, stopping) => {
        for await (const event of conversation.runCommand(command, stopping)) onEvent(event);
      }, "command"),
    async undoLastTurn() {
      if (current === undefined) throw new Error("a turn was undone before open()");
      return current.undoLastTurn(signal);
    },
    stop,
    redirect() {
      for (const controller of turns) controller.abort(new TurnRedirected("a new message ended the turn"));
    },
    async [Symbol.asyncDispose]() {
      stop();
      await current?.[Symbol.asyncDispose]();
    },
  };
}
