import type { AgentEvent } from "../agent/events.ts";
import { createResultFitter } from "../agent/fit-result.ts";
import { createSystemPrompt } from "../agent/system-prompt.ts";
import type { EnvironmentRegistry } from "../environments/environment-registry.ts";
import { type EnvironmentFacts, environmentTask } from "../environments/environment-request.ts";
import { createOutputWindow } from "../environments/output-window.ts";
import { createSpillFile } from "../environments/spill-file.ts";
import { systemClock } from "../lib/clock.ts";
import { ownIdentity } from "../lib/process-identity.ts";
import type { Redactor } from "../lib/redact/redactor.ts";
import type { RouteRequest, RouteSettings } from "../providers/choose-provider.ts";
import type { Message } from "../providers/message.ts";
import { openModel } from "../providers/open-model.ts";
import { type ReasoningEffort, readEffort } from "../providers/provider.ts";
import { createRouteHttp } from "../providers/route-http.ts";
import { isLocalAddress } from "../providers/timeouts.ts";
import { withRetries } from "../providers/with-retries.ts";
import { resolveSession, type SessionChoice } from "../sessions/resolve-session.ts";
import { openSessionStore } from "../sessions/session-store.ts";
import { todosOf } from "../tools/todo.ts";
import type { Tool } from "../tools/tool.ts";
import { createTools } from "../tools/tool-table.ts";
import type { Ask, ToolParts } from "../tools/workspace.ts";
import { type Conversation, createConversation } from "./conversation.ts";
import { definitionsOf, enabledToolsets, loadPromptFacts } from "./first-prompt.ts";
import { createPastSessions } from "./past-sessions.ts";
import { findSessionRoute, isSameModel } from "./session-route.ts";
import { createWorkspaceHolder } from "./workspace-holder.ts";

/** What a surface says about itself. */
export interface Surface {
  /** The name under which its sessions are kept: cli, oneshot, telegram… */
  readonly source: string;
  /** What the model should know of it, in a sentence or two. */
  readonly words: string;
  readonly ask: Ask | undefined;
  /** Whether a session can be told later that a job has ended. */
  readonly canNotify: boolean;
  /** Whether somebody may send notes while a turn runs. */
  readonly takesNotes: boolean;
  /** Whether a turn that goes round in circles is ended, because nobody watches. */
  readonly haltsLoops: boolean;
  /** Whether a person reads the answer while it is written, so that it cannot be begun anew. */
  readonly showsText: boolean;
  /** The only groups of tools that are offered; all unless given. */
  readonly toolsets?: readonly string[] | undefined;
  /** Tools that it brings along, whatever the settings say about others. */
  readonly tools?: readonly Tool[] | undefined;
}

/** Everything that a conversation is made from, as values. */
export interface ConversationRequest {
  readonly home: string;
  readonly sessionsPath: string;
  readonly settings: RouteSettings & {
    readonly agent: {
      readonly api_max_retries: number;
      readonly reasoning_effort: string;
      readonly disabled_toolsets: readonly string[];
      readonly max_session_cost_usd: number | null;
      readonly max_daily_cost_usd: number | null;
    };
    readonly tool_output: { readonly max_bytes: number; readonly spill_max_bytes: number };
  };
  readonly redactor: Redactor;
  /** Where its environment is opened, together with those of all other conversations of the process. */
  readonly environments: EnvironmentRegistry;
  readonly environment: EnvironmentFacts;
  /** The task of the board that it works on. */
  readonly task?: string | undefined;
  readonly choice: SessionChoice;
  readonly model: RouteRequest;
  /** Whether a flag sets provider, model or address, which then count in a resumed session too. */
  readonly settingsWin: boolean;
  /** Instead of `agent.reasoning_effort`. */
  readonly reasoningEffort?: ReasoningEffort | undefined;
  readonly surface: Surface;
  /** Why a command must not run, in words for the model; undefined when it may. */
  judge(command: string): string | undefined;
}

export interface OpenConversation extends Conversation, AsyncDisposable {
  readonly model: { readonly provider: string; readonly name: string };
  /** Whether it goes on with an earlier session. */
  readonly isResumed: boolean;
}

/** Opens the session that is meant, or a new one, with its model, tools and place. Nothing is sent or run yet. */
export async function openConversation(
  request: ConversationRequest,
  signal: AbortSignal,
): Promise<OpenConversation> {
  const { settings, redactor, surface, environment } = request;
  const [store, identity] = await Promise.all([
    openSessionStore(request.sessionsPath, {}, signal),
    ownIdentity(signal),
  ]);
  try {
    const chosen = resolveSession(store.list, request.choice);
    const resumed = chosen === undefined ? undefined : store.loadSession(chosen.id);
    const { route, notice } = findSessionRoute(request, resumed?.session, environment.variable);
    if (notice !== undefined) environment.reporter.onNotice(notice);
    const { provider, baseUrl } = route;
    const answering = { provider, model: route.model, baseUrl };
    const http = createRouteHttp(route, environment.variables);
    const model = withRetries(await openModel(route, { http, clock: systemClock, cacheTtl: "5m" }), {
      maxRetries: settings.agent.api_max_retries,
      showsText: surface.showsText,
      clock: systemClock,
      random: Math.random,
    });
    const id = resumed?.session.id ?? store.createSession(NOTHING).id;
    const holder = createWorkspaceHolder({
      environments: request.environments,
      request: {
        ...environment,
        ...(resumed && { cwd: resumed.session.cwd }),
        task: environmentTask(environment.options.isolation, { session: id, task: request.task }),
      },
      savedShell: resumed?.shell,
      onLoss(sentence) {
        environment.reporter.onNotice(sentence);
        conversation.steer(sentence); // for the model, which would look for its files in vain
      },
      session: id,
      redact: (text) => redactor.redact(text),
      isKnown: (session) => session === id || store.list.find(session) !== undefined,
    });
    const tools = new Map([
      ...createTools(toolParts(request, holder.workspace, id, createPastSessions(store)), {
        toolsets: enabledToolsets(settings.agent.disabled_toolsets, surface.toolsets),
        todos: todosOf(lastTodoResult(resumed?.messages ?? [])),
      }),
      ...(surface.tools ?? []).map((tool): [string, Tool] => [tool.name, tool]),
    ]);
    const session =
      resumed?.session ??
      ({
        id,
        source: surface.source,
        cwd: environment.cwd,
        ...answering,
        systemPrompt: createSystemPrompt(
          await loadPromptFacts(
            { home: request.home, environment, surface, now: systemClock.now() },
            tools,
            signal,
          ),
        ),
        toolsJson: JSON.stringify(definitionsOf(tools)),
      } as const);
    const fit = createResultFitter({
      home: request.home,
      contextTokens: model.contextTokens,
      spillBytes: settings.tool_output.spill_max_bytes,
      now: () => systemClock.now(),
    });
    const conversation = createConversation({
      store,
      session,
      isStored: resumed !== undefined,
      identity,
      model,
      newModel: resumed === undefined || isSameModel(resumed.session, answering) ? undefined : answering,
      reasoningEffort: request.reasoningEffort ?? readEffort(settings.agent.reasoning_effort),
      maxOutputTokens: settings.model.max_tokens ?? undefined,
      rules: { tools, judge: request.judge, fit },
      haltsLoops: surface.haltsLoops,
      spendingCaps: {
        session: settings.agent.max_session_cost_usd ?? undefined,
        day: settings.agent.max_daily_cost_usd ?? undefined,
        // Nobody is billed for a model of this machine or its network.
        isCostUnknown:
          route.price === undefined && route.apiMode !== "scripted" && !isLocalAddress(route.baseUrl),
      },
      clock: systemClock,
      saveShell: holder.saveShell,
    });
    let isRehearsed = false;
    /** What the first command needs of ours is run once while the model thinks: the first time takes much longer. */
    const rehearse = (): void => {
      if (isRehearsed) return;
      isRehearsed = true;
      for (const { commandsOf } of tools.values())
        for (const command of commandsOf?.('{"command":":"}') ?? []) request.judge(command);
    };
    /** The shell is opened while the model thinks, and nobody holds the place between two turns. */
    async function* inPlace(events: AsyncGenerator<AgentEvent>): AsyncGenerator<AgentEvent> {
      try {
        for await (const event of events) {
          if (event.type === "request-sent") {
            holder.warm();
            rehearse();
          }
          yield event;
        }
      } finally {
        holder.rest(); // and the person has the answer meanwhile
      }
    }
    return {
      ...conversation,
      say: (message, limits, within) => inPlace(conversation.say(message, limits, within)),
      model: { provider: route.provider, name: route.model },
      isResumed: resumed !== undefined,
      async [Symbol.asyncDispose]() {
        await holder[Symbol.asyncDispose]();
        await http[Symbol.asyncDispose]();
        store[Symbol.dispose]();
      },
    };
  } catch (error) {
    store[Symbol.dispose]();
    throw error;
  }
}

const NOTHING = {
  source: "",
  cwd: "",
  provider: "",
  model: "",
  baseUrl: "",
  systemPrompt: "",
  toolsJson: "",
};

function toolParts(
  { home, settings, redactor, surface, environment }: ConversationRequest,
  workspace: ToolParts["workspace"],
  owner: string,
  pastSessions: ToolParts["pastSessions"],
): ToolParts {
  const { max_bytes: maxBytes, spill_max_bytes: spillBytes } = settings.tool_output;
  return {
    workspace,
    owner,
    home,
    pastSessions,
    limits: {
      timeout: environment.options.timeout,
      maxForegroundTimeout: environment.options.max_foreground_timeout,
    },
    canNotify: surface.canNotify,
    ask: surface.ask,
    redact: (text, options) => redactor.redact(text, options),
    createWindow: () =>
      createOutputWindow({
        maxBytes,
        spill: createSpillFile({ home, maxBytes: spillBytes, now: () => systemClock.now() }),
      }),
  };
}

function lastTodoResult(messages: readonly Message[]): string | undefined {
  const last = messages.findLast(
    (message) => message.role === "tool" && message.tool === "todo" && !message.failed,
  );
  return last?.role === "tool" ? last.text : undefined;
}
