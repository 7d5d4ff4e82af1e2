import { homedir } from "node:os";
import { join } from "node:path";
import type { AgentEvent } from "../../agent/events.ts";
import { answerApproval, createPolicyState } from "../../app/approvals.ts";
import { type LimitOptions, turnLimits } from "../../app/conversation.ts";
import { openAppEnvironments } from "../../app/environments/environments.ts";
import { configKeys } from "../../config/config-keys.ts";
import { openEventLog } from "../../conversation/log-event.ts";
import type { OpenConversation } from "../../conversation/open-conversation.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import { readOwnIdentity } from "../../lib/process/process-identity.ts";
import { createRedactor } from "../../lib/redact/redactor.ts";
import { firstTextOf, textOf } from "../../providers/message.ts";
import { VERSION } from "../../version.ts";
import type { CommandContext } from "../context.ts";
import { profileFlag } from "../profile-flag.ts";
import { startApp } from "../start-app.ts";
import { currentFolder } from "../terminal/current-folder.ts";
import { quoteShort } from "../terminal/quote-text.ts";
import { modeOf } from "./approval-mode.ts";
import { createChatControl } from "./chat-control.ts";
import { createChatSession, type OpenRequest } from "./chat-session.ts";
import { CHAT_COMMANDS, runChatCommand } from "./commands/command-registry.ts";
import { formatDuration } from "./format-duration.ts";
import { createAttachedImages, findImagePath } from "./input/attached-images.ts";
import { createDraftCompletion } from "./input/complete-draft.ts";
import { createHistoryStore } from "./input/history-store.ts";
import type { KeyAction } from "./input/input-line.ts";
import { createKeyBindings } from "./input/key-bindings.ts";
import { createJobWatch, type JobWatch } from "./job-watch.ts";
import { createNotifier } from "./notifier.ts";
import { createChatPanels } from "./panel/chat-panels.ts";
import { findPlainReason } from "./plain/plain-reason.ts";
import { openPlainWindow } from "./plain/plain-window.ts";
import { recap } from "./recap.ts";
import { runShellCommand } from "./shell-command.ts";
import { type ChatState, type Effect, INITIAL_STATE, type Update } from "./state/chat-state.ts";
import type { EndedCall } from "./state/entry.ts";
import { type ChatInput, update } from "./state/update.ts";
import { updateByEvent } from "./state/update-by-event.ts";
import { createTurnMemory, v8Memory } from "./turn-memory.ts";
import { createSendQueue } from "./unsent/send-queue.ts";
import { createUnsentKeeper, type UnsentKeeper } from "./unsent/unsent-keeper.ts";
import { createUnsentStore, type Unsent } from "./unsent/unsent-store.ts";
import { type ChatWindowParts, openChatWindow } from "./window/chat-window.ts";
import { createWindowHolder } from "./window/window-holder.ts";

export interface ChatOptions extends LimitOptions, Omit<OpenRequest, "choice"> {
  readonly continue?: true | string;
  readonly resume?: string;
  readonly yolo?: boolean;
  readonly plan?: boolean;
  readonly screenReader?: boolean;
}

/** How many ended calls are kept for `/out`. */
const KEPT_CALLS = 500;

/** The interactive chat. Resolves when the user leaves. */
export async function runInteractiveChat(context: CommandContext, options: ChatOptions): Promise<void> {
  const { streams, signal, variables, terminal, firstFrame } = context;
  const startedAt = Date.now();
  const calls = new Map<number, EndedCall>();
  const answers: string[] = [];
  let state: ChatState = INITIAL_STATE;
  let keys = createKeyBindings();
  let leave: () => void = () => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  signal.addEventListener("abort", leave, { once: true });
  // Open the window before anything else, so that no early key is lost.
  const windowParts: ChatWindowParts = {
    streams,
    colours: terminal.colours,
    keys: () => keys,
    complete: createDraftCompletion({ ...COMPLETIONS, folder: currentFolder() }),
    onRemember: (text) => remember(text),
    onSubmit: (text, startedTypingAt) => dispatch({ type: "submit", text, startedTypingAt }),
    onKey: press,
    onDraft() {
      notifier.touch();
      memory.touch();
      keeper?.touch();
    },
    takePaste: (text) => {
      const path = findImagePath(text);
      return path === undefined ? undefined : images.add(path, currentFolder());
    },
    onClosed: leave,
    firstFrame,
  };
  const plain = findPlainReason(options.screenReader, variables);
  using window = createWindowHolder(
    plain === undefined ? openChatWindow(windowParts, state) : openPlainWindow(windowParts, state, plain),
  );

  using notifier = createNotifier({ write: window.write, variables, now: () => Date.now() });

  using memory = createTurnMemory(v8Memory);

  function apply({ state: next, entries, effects }: Update): void {
    notifier.watch(state, next);
    memory.watch(state, next);
    state = next;
    for (const entry of entries) if (entry.kind === "call") keepCall(entry.call);
    window.show(state, entries);
    for (const effect of effects) carryOut(effect);
    keeper?.touch();
  }
  function dispatch(input: ChatInput): void {
    apply(update(state, input, Date.now()));
  }
  function keepCall(call: EndedCall): void {
    calls.set(call.number, call);
    if (calls.size > KEPT_CALLS) calls.delete(calls.keys().next().value ?? 0);
  }
  function report(error: unknown): void {
    if (signal.aborted) return;
    dispatch({
      type: "failed",
      text: messageOf(error),
      hint: error instanceof AppError ? error.hint : undefined,
    });
  }

  function press(action: KeyAction): void {
    const command = COMMAND_OF_KEY[action];
    if (command !== undefined) carryOut({ type: "command", name: command, argument: "" });
    else if (action === "stop" || action === "interrupt" || action === "leave")
      dispatch({ type: "key", key: action, draft: window.draft() });
    else if (action === "take-back") dispatch({ type: "take-back" });
    else if (action === "suspend") window.suspend();
    else if (action === "redraw") window.redraw();
    else if (action === "search") window.searchHistory();
    else if (action === "mode") control.cycleMode();
  }

  function carryOut(effect: Effect): void {
    switch (effect.type) {
      case "send":
        sendQueue.send(effect.text);
        break;
      case "steer":
        session?.current()?.steer(effect.text);
        break;
      case "stop":
        session?.stop();
        break;
      case "redirect":
        session?.redirect();
        break;
      case "stop-commands":
        control.stopCommands();
        break;
      case "leave":
        leave();
        break;
      case "clear-draft":
        window.clearDraft();
        break;
      case "edit":
        window.setDraft(effect.text);
        break;
      case "shell":
        runShellCommand(effect.command, {
          ...{ state: () => state, apply },
          run: async (text, onEvent) => session?.runCommand(text, onEvent),
        }).catch(report);
        break;
      case "command":
        runChatCommand(control, effect.name, effect.argument).catch(report);
        break;
      case "answer":
        answer(effect).catch(report);
    }
  }

  const images = createAttachedImages();
  const sendQueue = createSendQueue({
    async run(text, onStored) {
      await session?.run(text, images.of(text), (event: AgentEvent) => {
        onStored();
        if (event.type === "turn-start") {
          storedSession = session?.current()?.sessionId;
          keeper?.markStored();
        }
        eventLog?.add(event);
        if (event.type === "assistant" && textOf(event.message).trim() !== "")
          answers.push(textOf(event.message));
        // Discard them here: the state has them too, and sends them as messages.
        if (event.type === "turn-end") session?.current()?.takeUnseenSteers();
        apply(updateByEvent(state, event, Date.now()));
        if (event.type === "tool-end" || event.type === "turn-end") jobWatch?.poll();
      });
    },
    giveBack: (text) => dispatch({ type: "give-back", text, draft: window.draft() }),
    onFailure: report,
  });
  const readUnsent = (): Unsent => ({
    draft: window.draft(),
    stash: window.stash() ?? "",
    queue: [...sendQueue.waiting(), ...state.steers, ...state.queue],
  });
  async function answer({ approval, choice }: Extract<Effect, { type: "answer" }>): Promise<void> {
    const conversation = session?.current();
    if (conversation !== undefined) await answerApproval(app, conversation, approval.id, choice, signal);
  }

  let session: ReturnType<typeof createChatSession> | undefined;
  let storedSession: string | undefined; // the session in which this chat has stored a message
  let eventLog: ReturnType<typeof openEventLog> | undefined;
  let jobWatch: JobWatch | undefined;
  let keeper: UnsentKeeper | undefined;
  const onNotice = (text: string): void => dispatch({ type: "notice", text });
  // Standard error is the same terminal, so anything written to it would appear in the input line.
  const showNotice = (text: string): void => onNotice(text.replace(/^hermes: (?:warning: )?/, ""));
  const app = await startApp({ openApp: context.openApp, terminal: { ...terminal, note: showNotice } });
  const { display } = app.resolved.config;
  keys = createKeyBindings(display.keys);
  if (display.screen_reader && plain === undefined)
    window.replace(() => openPlainWindow(windowParts, state, "display.screen_reader"));
  dispatch({ type: "busy-mode", mode: display.busy_input_mode });
  dispatch({
    type: "display",
    showsReasoning: display.show_reasoning,
    hasMotion: display.motion === "on",
    statusFields: display.status,
  });
  window.display.wrap = display.wrap;
  notifier.setMode(display.notify);
  const policy = createPolicyState(app, options);
  const log = await context.log();
  await using environments = await openAppEnvironments(onNotice, signal);
  await using opened = createChatSession(
    {
      app,
      environments,
      policy,
      limits: turnLimits(app, options),
      cwd: currentFolder(),
      reporter: { onNotice, onProgress: onNotice },
    },
    signal,
  );
  session = opened;
  const store = createUnsentStore(join(app.profile.home, "drafts"), await readOwnIdentity(signal));
  keeper = createUnsentKeeper({ store, read: readUnsent, onFailure: report });

  const history = createHistoryStore(
    join(app.profile.home, "history.jsonl"),
    createRedactor({ secrets: app.resolved.secrets }),
  );
  function remember(text: string): void {
    const { sessionId } = state.facts ?? {};
    if (sessionId !== undefined && !namesSecret(text))
      history.add(text, { sessionId, folder: currentFolder() }, signal).catch(report);
  }

  let chosen: Omit<OpenRequest, "choice"> = {};
  async function reopen(change: Omit<OpenRequest, "choice">): Promise<void> {
    const before = change.model === undefined ? chosen : { reasoning: chosen.reasoning };
    const resume = isStored() ? state.facts?.sessionId : undefined;
    await open({ ...before, ...change, choice: { resume } });
  }
  async function open(request: OpenRequest): Promise<void> {
    const conversation = await opened.open(request);
    const { sessionId, pastTotals } = conversation;
    const { model, provider, reasoning } = request;
    chosen = { model, provider, reasoning };
    if (state.facts?.sessionId !== sessionId) {
      calls.clear();
      answers.splice(0, answers.length, ...answersOf(conversation));
    }
    eventLog?.[Symbol.dispose]();
    eventLog = openEventLog(log.child({ component: "agent", session: sessionId }));
    dispatch({
      type: "opened",
      facts: {
        version: VERSION,
        profile: app.profile.name,
        folder: currentFolder().replace(homedir(), "~"),
        environment: app.resolved.config.terminal.backend,
        model: conversation.model.name,
        contextTokens: conversation.model.contextTokens,
        sessionId,
      },
      mode: modeOf(policy),
      lastCall: pastTotals.calls,
      contextUsed: pastTotals.contextTokens ?? 0,
      costUsd: pastTotals.costUsd,
    });
    showRecap(conversation);
    jobWatch?.[Symbol.dispose]();
    jobWatch = createJobWatch({
      list: conversation.jobs,
      onJobs: (running, ended) => dispatch({ type: "jobs", running, ended }),
    });
    if (conversation.isResumed) jobWatch.poll();
    const owner = { sessionId, isStored: conversation.isResumed, folder: currentFolder() };
    const left = await store.take(owner, signal);
    if (left !== undefined) dispatch({ type: "restored", unsent: left, draft: window.draft() });
    keeper?.setOwner(owner);
    window.loadHistory(await history.load(owner));
  }

  function isStored(): boolean {
    const current = opened.current();
    return current !== undefined && (current.isResumed || current.sessionId === storedSession);
  }
  const command = (name: string, argument = ""): void => carryOut({ type: "command", name, argument });
  using panels = createChatPanels(
    {
      ...{ app, folder: currentFolder(), keys: () => keys, openPanel: window.openPanel, report },
      cachedTokens: () => state.contextUsed,
      openSession: (id) => command("resume", id),
      useModel: (name) => command("model", name),
      keepModel: (name) => void control.runCli(["model", "set", name]).catch(report),
      commands: CHAT_COMMANDS,
      sessionId: () => state.facts?.sessionId,
      chooseCommand({ name, argument }) {
        const isOptional = argument === undefined || argument.startsWith("[");
        if (isOptional) command(name);
        else window.setDraft(`/${name} `);
      },
      notice: onNotice,
    },
    signal,
  );
  function showRecap({ storedSession, pastMessages, pastTotals: { turns }, cutOff }: OpenConversation): void {
    if (storedSession === undefined) return;
    const { title, cwd, activeAt } = storedSession;
    const request = {
      pastMessages,
      turns,
      title,
      folder: cwd.replace(homedir(), "~"),
      ageMs: Date.now() - activeAt,
    };
    control.print([...recap(request, window.columns()), ""]);
    if (cutOff !== undefined) dispatch({ type: "cut-off", calls: cutOff });
  }

  const control = createChatControl({
    ...{ app, context, policy, window, images, panels, dispatch, apply, open, reopen, isStored },
    openNew: () => open({ ...options, choice: {} }),
    reasoning: () =>
      chosen.reasoning ?? (app.resolved.config.agent.reasoning_effort || "as the provider decides"),
    state: () => state,
    keys: () => keys,
    call: (number) => calls.get(number),
    calls: () => [...calls.values()],
    answers: () => answers,
    async undoLastTurn() {
      const undone = await opened.undoLastTurn();
      images.restore(undone);
      return firstTextOf(undone);
    },
    leave: () => leave(),
  });

  try {
    await open({ ...options, choice: { continue: options.continue, resume: options.resume } });
    await left;
  } finally {
    jobWatch?.[Symbol.dispose]();
    opened.stop();
    await sendQueue.waitUntilIdle();
    await keeper.flush();
    window[Symbol.dispose]();
    eventLog?.[Symbol.dispose]();
  }
  const conversation = opened.current();
  const { draft, queue } = readUnsent();
  for (const text of [...queue, ...(draft.trim() === "" ? [] : [draft])])
    terminal.note(`Not sent, kept for later: ${quoteShort(text)}`);
  const farewell = `${formatDuration(Date.now() - startedAt)} · resume with: hermes ${profileFlag(context.flags.profile)}-r ${conversation?.sessionId}`;
  const { reason } = signal; // the exit code names the signal
  if (signal.aborted) throw isStored() && reason instanceof AppError ? withHint(reason, farewell) : reason;
  if (isStored()) terminal.note(farewell);
}

function withHint({ code, message }: AppError, hint: string): AppError {
  return new AppError(code, message, { hint });
}

const COMMAND_OF_KEY: Partial<Record<KeyAction, string>> = {
  editor: "editor",
  output: "out",
  help: "help",
  palette: "palette",
  paste: "paste",
};

const COMPLETIONS = {
  commands: () => CHAT_COMMANDS.map(({ name, summary }) => ({ value: `/${name}`, summary })),
  argumentsOf: (name: string) => CHAT_COMMANDS.find((row) => row.name === name)?.complete?.(),
};

/** Whether a command sets a secret; its value must not be stored. */
function namesSecret(text: string): boolean {
  const key = /^\/con\w*\s+(\S+)\s+\S/i.exec(text.trim())?.[1];
  return configKeys().some((row) => row.secret && row.key === key);
}

function answersOf({ pastMessages }: OpenConversation): string[] {
  return pastMessages.flatMap((message) => {
    const text = message.role === "assistant" ? textOf(message) : "";
    return text.trim() === "" ? [] : [text];
  });
}
