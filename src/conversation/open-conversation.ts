import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { AgentEvent, PendingCall, ReviewCost } from "../agent/events.ts";
import { createResultFitter, maxResultChars } from "../agent/fit-result.ts";
import { screenContext } from "../agent/prompt/context-file.ts";
import { createSystemPrompt } from "../agent/prompt/system-prompt.ts";
import { runTools } from "../agent/run-tools.ts";
import type { ApprovalQueue } from "../approvals/approval-queue.ts";
import type { TurnCheckpoints } from "../checkpoints/turn-checkpoints.ts";
import { findHints, withFolderHints } from "../context/folder-hints.ts";
import { environmentTask } from "../environments/environment-request.ts";
import { isFileProblem } from "../environments/files/file-problem.ts";
import { AppError } from "../lib/errors.ts";
import { readOwnIdentity } from "../lib/process/process-identity.ts";
import { systemClock } from "../lib/time/clock.ts";
import { createUntrustedSources } from "../policy/untrusted/untrusted-sources.ts";
import { smallWindowNotice } from "../providers/catalogue/model-facts.ts";
import { withStatedWindows } from "../providers/catalogue/report-stated-window.ts";
import { openFailover } from "../providers/failures/failover.ts";
import type { ImagePart, Message, UserMessage } from "../providers/message.ts";
import { createKeyStates } from "../providers/pool/key-states.ts";
import { findEffort } from "../providers/provider.ts";
import { isCostUnknown, isOllamaRoute } from "../providers/routes/resolve-route.ts";
import { openRoute } from "../providers/routes/route-http.ts";
import { resolveSession } from "../sessions/resolve-session.ts";
import type { AuxiliaryRequest } from "../sessions/rows/session-usage.ts";
import type { LoadedSession, SessionSummary } from "../sessions/session.ts";
import { openSessionStore, type SessionStore } from "../sessions/session-store.ts";
import { createReadFile } from "../tools/files/read-file.ts";
import { SeenFiles } from "../tools/files/seen-files.ts";
import { parseTodos } from "../tools/todo.ts";
import { createTools } from "../tools/tool-table.ts";
import { type Conversation, createConversation } from "./conversation.ts";
import type { ConversationRequest } from "./conversation-request.ts";
import { createFallbacks } from "./fallback-routes.ts";
import { type CallGateParts, createCallGate } from "./gate/call-gate.ts";
import { createPolicy } from "./gate/create-policy.ts";
import { findPastWrites } from "./gate/past-writes.ts";
import { withUntrustedNotes } from "./gate/untrusted-results.ts";
import { warmGate } from "./gate/warm-gate.ts";
import { openToolParts } from "./open-tool-parts.ts";
import { loadPastTotals, type PastTotals, withoutSummary } from "./past-totals.ts";
import { createVision, describeImages } from "./prompt/describe-images.ts";
import { createToolDefinitions, enabledToolsets, loadPromptFacts } from "./prompt/prompt-facts.ts";
import { createSessionEnvironment, type SessionEnvironment } from "./session-environment.ts";
import { findSessionRoute, isSameModel } from "./session-route.ts";
import { remainingBudget } from "./spending.ts";
import { createBackgroundTitle } from "./titles/background-title.ts";
import { createTitleModel } from "./titles/title-model.ts";
import { createSummarizers, createTurnCompaction, findWindow } from "./turn-compaction.ts";

export interface OpenConversation extends Conversation, AsyncDisposable {
  readonly model: {
    readonly provider: string;
    readonly name: string;
    readonly contextTokens: number | undefined;
  };
  readonly isResumed: boolean;
  /** What is stored about a resumed session. */
  readonly storedSession: SessionSummary | undefined;
  /** The calls without a result if a crash has cut off the last turn; undefined if that turn has ended or still runs. */
  readonly cutOff: readonly PendingCall[] | undefined;
  /** The messages from before this process that no summary has replaced. */
  readonly pastMessages: readonly Message[];
  readonly pastTotals: PastTotals;
  /** Questions to a person. */
  readonly approvals: ApprovalQueue;
  /** The background jobs of the session with their current state. */
  readonly jobs: SessionEnvironment["jobs"];
  /** Runs a command that the person typed as a call of the terminal tool, with the same decision. The model does not see it. */
  runCommand(command: string, signal: AbortSignal): AsyncGenerator<AgentEvent>;
  /**
   * The parts to append to a person's message: its images and what its references name. For a model that cannot see images,
   * they are described.
   */
  loadParts(text: string, images: readonly ImagePart[], signal: AbortSignal): Promise<UserMessage["parts"]>;
  /** Puts a file of this machine where the session's tools find it, and returns its path there. */
  placeFile(path: string, signal: AbortSignal): Promise<string>;
}

const RECORD_WITHIN_MS = 5_000;

/** Opens the chosen session or a new one, with its model, tools and environment. Nothing is sent or run yet. */
export async function openConversation(
  request: ConversationRequest,
  signal: AbortSignal,
): Promise<OpenConversation> {
  const { settings, redactor, surface, environment } = request;
  const [store, identity] = await Promise.all([
    openSessionStore(request.sessionsPath, {}, signal),
    readOwnIdentity(signal),
  ]);
  try {
    const chosen = resolveSession(store.list, request.choice);
    const resumed = chosen === undefined ? undefined : store.loadSession(chosen.id);
    const found = findSessionRoute(request, resumed?.session, environment.variable);
    const { sessionModel, notice } = found;
    const route = await request.catalogue.complete(
      found.route,
      { model: request.model.model, provider: request.model.provider },
      signal,
    );
    const isSmall =
      resumed === undefined
        ? smallWindowNotice(route.model, route, { isOllama: isOllamaRoute(route) })
        : undefined;
    for (const sentence of [notice, isSmall, settings.security.redact_secrets ? undefined : SHOWS_SECRETS])
      if (sentence !== undefined) environment.reporter.onNotice(sentence);
    if (resumed !== undefined && resumed.damagedMessages > 0)
      environment.reporter.onNotice(
        `Session ${resumed.session.id} has damaged messages (${resumed.damagedMessages}); the model gets a sentence in place of each.`,
      );
    const model = await openFailover({
      primary: route,
      fallbacks: createFallbacks(settings, route, environment.variable),
      strategies: settings.credential_pool_strategies,
      states: createKeyStates(request.keysPath, {
        clock: systemClock,
        report: environment.reporter.onNotice,
      }),
      async open(one) {
        const opened = await openRoute(one, environment.variables, { clock: systemClock, cacheTtl: "5m" });
        const remember = (tokens: number) => request.catalogue.rememberWindow(one, tokens);
        return { ...opened, model: withStatedWindows(opened.model, remember) };
      },
      cooldownMs: settings.agent.key_cooldown_seconds * 1_000,
      maxRetries: settings.agent.api_max_retries,
      showsText: surface.showsText,
      clock: systemClock,
      random: Math.random,
    });
    const draft =
      resumed?.session ??
      store.createSession({
        source: surface.source,
        cwd: environment.cwd,
        ...sessionModel,
        systemPrompt: "",
        toolsJson: "",
      });
    const { id } = draft;
    const inUse = {
      ...environment,
      ...(resumed && { cwd: resumed.session.cwd }),
      task: environmentTask(environment.options.isolation, { session: id, task: request.task }),
    };
    const tellBoth = (sentence: string): void => {
      environment.reporter.onNotice(sentence);
      conversation.tellModel(sentence);
    };
    const ownEnvironment = createSessionEnvironment({
      environments: request.environments,
      request: inUse,
      isResumed: resumed !== undefined,
      savedShell: resumed?.shell,
      onLoss: tellBoth, // so that the model does not expect the old folder and variables
      session: id,
      redact: (text) => redactor.redact(text),
      isKnown: (session) => session === id || store.list.find(session) !== undefined,
    });
    const untrusted = createUntrustedSources();
    untrusted.load(resumed?.untrusted ?? []);
    // The requests of tools and references count towards the limits of their turn, and are stored at its end.
    const uncounted: AuxiliaryRequest[] = [];
    const unstored: AuxiliaryRequest[] = [];
    const describing = {
      settings,
      route,
      variable: environment.variable,
      variables: environment.variables,
      redact: (text: string) => redactor.redact(text),
      onSpent(one: AuxiliaryRequest) {
        uncounted.push(one);
        unstored.push(one);
      },
    };
    const ownParts = await openToolParts(
      request,
      ownEnvironment.open,
      { owner: id, cwd: inUse.cwd },
      store,
      untrusted.add,
      createVision(describing, model),
      tellBoth,
    );
    const own = createTools(ownParts, {
      toolsets: enabledToolsets(settings.agent.disabled_toolsets, surface.toolsets),
      todos: parseTodos(store.findLastResult(id, "todo")),
      added: surface.tools ?? [],
    });
    const noteUntrusted = { notify: environment.reporter.onNotice, onUntrusted: untrusted.add };
    // The project's folder: locally, that of the session; in other environments, the one in which the shell starts.
    const folder = environment.options.backend === "local" ? inUse.cwd : ".";
    const checkpoints = await openTurnCheckpoints(request, inUse.cwd, id);
    const tools = new Map(
      request.usesContextFiles
        ? withFolderHints(own, {
            openEnvironment: ownEnvironment.open,
            folder,
            guards: ownParts.guards,
            shown: (resumed?.messages ?? []).flatMap((message) =>
              message.role === "tool" ? findHints(message.text) : [],
            ),
            maxResultChars: maxResultChars(model.contextTokens),
            redact: ownParts.redact,
            notify: environment.reporter.onNotice,
            screen: (path, text) => screenContext(path, text, noteUntrusted),
          })
        : own,
    );
    if (checkpoints !== undefined) for (const [name, tool] of tools) tools.set(name, checkpoints.guard(tool));
    const noted = withUntrustedNotes(tools, {
      untrusted,
      facts: { cwd: inUse.cwd, home: environment.variables["HOME"] },
      notify: environment.reporter.onNotice,
    });
    const session = resumed?.session ?? {
      ...draft,
      // Context files and appended instructions may contain secrets.
      systemPrompt: redactor.redact(
        createSystemPrompt(
          await loadPromptFacts(
            {
              home: request.home,
              environment,
              surface,
              now: systemClock.now(),
              contextRules: request.usesContextFiles
                ? {
                    maxChars: settings.context_file_max_chars,
                    ...noteUntrusted,
                  }
                : undefined,
            },
            tools,
            signal,
          ),
        ),
      ),
      toolsJson: JSON.stringify(createToolDefinitions(tools)),
    };
    const fit = createResultFitter({
      home: request.spillHome,
      contextTokens: model.contextTokens,
      spillBytes: settings.tool_output.spill_max_bytes,
      now: () => systemClock.now(),
    });
    const reviews: ReviewCost[] = [];
    const policy = await createPolicy(request, {
      cwd: ownEnvironment.cwd,
      inUse,
      model: model.current,
      knownTools: new Set(tools.keys()),
      rememberedRules: () => store.approvals.rememberedRules(id),
      useGrant: (hash, within) => store.approvals.useGrant(id, hash, within),
      pastWrites: () =>
        findPastWrites(resumed?.messages ?? [], tools, {
          cwd: inUse.cwd,
          home: environment.variables["HOME"],
        }),
      untrusted,
      onReview: (review) => void reviews.push(review),
    });
    const gateParts: CallGateParts = {
      policy,
      queue: store.approvals,
      sessionId: id,
      identity,
      clock: systemClock,
      timeoutMs: request.askingTask === undefined ? settings.approvals.timeout * 1_000 : undefined,
      task: request.askingTask,
      redact: (text) => redactor.redact(text),
      takeReviews: () => reviews.splice(0),
    };
    let isGateWarm = false;
    const spendingCaps = {
      session: settings.agent.max_session_cost_usd ?? undefined,
      day: settings.agent.max_daily_cost_usd ?? undefined,
      isCostUnknown: isCostUnknown(route),
    };
    const { title_generation: titles } = settings.auxiliary;
    const titleModel = createTitleModel(settings, async () => model.current(), environment);
    const title =
      surface.titledBy === "model" && titles.enabled
        ? createBackgroundTitle({
            store,
            sessionId: id,
            timeoutMs: titles.timeout * 1_000,
            redact: (text) => redactor.redact(text),
            openModel: titleModel.open,
            requireBudget(writer) {
              const isCostUnknown =
                writer === model.current() ? spendingCaps.isCostUnknown : writer.price === undefined;
              const now = systemClock.now();
              const turn = { sessionId: id, now, maxCostUsd: undefined };
              remainingBudget(store.usage, { ...spendingCaps, isCostUnknown }, turn);
            },
          })
        : undefined;
    const auxiliary = createSummarizers(settings, () => model.current(), environment);
    let statedTokens: number | undefined; // the window that the server has stated since the session was opened
    const conversation = createConversation({
      store,
      session,
      isStored: resumed !== undefined,
      earlierExchanges: request.earlierExchanges ?? [],
      identity,
      model,
      newModel:
        resumed === undefined || isSameModel(resumed.session, sessionModel) ? undefined : sessionModel,
      reasoningEffort: request.reasoningEffort ?? findEffort(settings.agent.reasoning_effort),
      maxOutputTokens: settings.model.max_tokens ?? undefined,
      rules: { tools: noted, gate: createCallGate(gateParts), fit },
      maxDenials: settings.approvals.denial_breaker_threshold,
      endsUnanswered: settings.approvals.on_timeout === "end-turn",
      haltsLoops: surface.haltsLoops,
      spendingCaps,
      takeAuxiliaryRequests: () => uncounted.splice(0),
      redact: (text) => redactor.redact(text),
      isTitleCut: title === undefined && surface.titledBy !== "nobody",
      clock: systemClock,
      createCompaction: (state) =>
        createTurnCompaction(
          { store, sessionId: id, tools, summarizers: auxiliary.summarizers, settings },
          {
            windowTokens: () => findWindow(model.contextTokens, statedTokens),
            onWindowStated(tokens) {
              statedTokens = tokens;
            },
          },
          state,
        ),
      saveShell: ownEnvironment.saveShell,
      untrusted,
      onRequestSent() {
        ownEnvironment.warm();
        const terminal = tools.get("terminal");
        if (isGateWarm || terminal === undefined) return;
        isGateWarm = true;
        warmGate(gateParts, terminal, signal).catch(() => undefined); // the first real call reports the problem
      },
      async onTurnEnd() {
        // Neither is awaited, so that the answer is not delayed.
        ownEnvironment.startRelease();
        title?.start();
        for (const one of unstored.splice(0))
          await store.usage.addRequest(id, one, AbortSignal.timeout(RECORD_WITHIN_MS));
        await checkpoints?.endTurn();
      },
    });
    return {
      ...conversation,
      model: { provider: route.provider, name: route.model, contextTokens: model.contextTokens },
      isResumed: resumed !== undefined,
      storedSession: resumed?.session,
      cutOff: await findCutOff(store, resumed, signal),
      pastMessages: resumed === undefined ? [] : withoutSummary(resumed),
      pastTotals: loadPastTotals(store, id, resumed),
      approvals: store.approvals,
      jobs: ownEnvironment.jobs,
      runCommand(command, within) {
        const input = JSON.stringify({ command });
        const call = { type: "tool-call", callId: randomUUID(), tool: "terminal", input } as const;
        const isStored = store.list.find(id) !== undefined;
        const gate = createCallGate({
          ...gateParts,
          // Untrusted text of the conversation did not cause this command, and the model does not see its result.
          policy: { ...policy, untrusted: undefined },
          queue: isStored ? store.approvals : withoutSession(store.approvals),
        });
        return runTools([call], { tools, gate, fit }, within);
      },
      async placeFile(path, within) {
        if (environment.options.backend === "local") return path;
        const { files } = await ownEnvironment.open(within);
        const target = `~/received/${basename(dirname(path))}/${basename(path)}`;
        const placed = await files.write(target, await readFile(path), {}, within);
        if (isFileProblem(placed))
          throw new AppError("file-not-placed", placed.message, { hint: placed.hint });
        return placed.path;
      },
      async loadParts(text, images, within) {
        const { redact } = ownParts;
        const references = text.includes("@")
          ? await (await import("../context/load-references.ts")).loadReferences(
              text,
              {
                openEnvironment: ownEnvironment.open,
                folder,
                guards: ownParts.guards,
                readFile: createReadFile(ownParts, new SeenFiles()),
                fetching: {
                  variables: environment.variables,
                  allowsPrivate: settings.security.allow_private_urls,
                },
                contextTokens: model.contextTokens,
                redact,
                ...noteUntrusted,
              },
              within,
            )
          : [];
        const parts = [...images, ...references];
        if (!parts.some(({ type }) => type === "image")) return parts;
        return describeImages(parts, text, { ...describing, redact }, within);
      },
      async [Symbol.asyncDispose]() {
        await title?.[Symbol.asyncDispose]();
        await titleModel[Symbol.asyncDispose]();
        await ownEnvironment[Symbol.asyncDispose]();
        await auxiliary[Symbol.asyncDispose]();
        await model[Symbol.asyncDispose]();
        store[Symbol.dispose]();
      },
    };
  } catch (error) {
    store[Symbol.dispose]();
    throw error;
  }
}

/** Checkpoints of the project, if they are enabled and its files are on this machine. */
async function openTurnCheckpoints(
  { home, settings, environment, redactor }: ConversationRequest,
  folder: string,
  sessionId: string,
): Promise<TurnCheckpoints | undefined> {
  if (!settings.checkpoints.enabled) return undefined;
  const { onNotice } = environment.reporter;
  if (environment.options.backend !== "local") {
    onNotice(
      "Checkpoints do not cover files in a sandbox or on another host; `hermes sandbox snapshot` saves a sandbox.",
    );
    return undefined;
  }
  const { createTurnCheckpoints } = await import("../checkpoints/turn-checkpoints.ts");
  const { createCheckpoints } = await import("../checkpoints/checkpoint-store.ts");
  const location = { folder: join(home, "checkpoints"), variables: environment.variables };
  return createTurnCheckpoints(
    createCheckpoints(location, { options: settings.checkpoints, clock: systemClock }),
    {
      folder,
      sessionId,
      redact: (text) => redactor.redact(text),
      onNotice,
    },
  );
}

async function findCutOff(
  store: SessionStore,
  resumed: LoadedSession | undefined,
  signal: AbortSignal,
): Promise<readonly PendingCall[] | undefined> {
  if (resumed?.openTurn === undefined) return undefined;
  const { openTurn, messages, session } = resumed;
  // Only the end of the turn was lost, not the answer.
  if (openTurn.pendingCalls.length === 0 && messages.at(-1)?.role === "assistant") return undefined;
  return (await store.isTurnRunning(session.id, signal)) ? undefined : openTurn.pendingCalls;
}

/** A question belongs to a stored session, and a session is stored with its first message. */
function withoutSession(queue: ApprovalQueue): ApprovalQueue {
  return {
    ...queue,
    async ask({ reason }) {
      throw new AppError("approval-denied", `Not run: ${reason}`, {
        hint: "It can be asked about once the session has a message: send one, then repeat the command.",
      });
    },
  };
}

const SHOWS_SECRETS =
  "Text that looks like a secret is shown to the model, because security.redact_secrets is off. Known keys stay hidden.";
