import { setImmediate as nextRound } from "node:timers/promises";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { TurnRedirected } from "../../tools/tool.ts";
import { decideAccess, type GlobalAccess, mayUseCommand, type Tier } from "../access/decide-access.ts";
import type { Pairing } from "../access/pairing.ts";
import { answerQuestion, CHAT_COMMANDS, type CommandContext } from "../chats/chat-commands.ts";
import { type ChatKeyRules, chatKeyOf } from "../chats/chat-key.ts";
import { readButton } from "../chats/chat-questions.ts";
import type { ChatRunner } from "../chats/chat-runner.ts";
import type { BusyMode, ChatStore } from "../chats/chat-store.ts";
import { isQueued, parseChatCommand } from "../chats/parse-command.ts";
import { whyReset } from "../chats/reset-policy.ts";
import type { HookEvent } from "../hooks/hooks.ts";
import type { SessionResetOptions } from "../options.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { Chat, OutboundPart } from "../platform.ts";
import type { CommonOptions } from "../platforms/common-options.ts";
import type { Inbox, InboxEntry, InboxState } from "./inbox.ts";
import type { StoredMessage } from "./stored-message.ts";

export interface MessageHandlerParts {
  readonly database: Database;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly chats: ChatStore;
  readonly pairing: Pairing;
  readonly runner: ChatRunner;
  readonly log: Log;
  readonly rules: ChatKeyRules &
    GlobalAccess & {
      readonly busy_input_mode: BusyMode;
      readonly busy_ack_enabled: boolean;
    };
  /** The settings of a platform; undefined if this gateway no longer runs it. */
  optionsOf(platform: string): CommonOptions | undefined;
  /** Whether a stranger may get a pairing code on this platform. */
  answersStrangers(platform: string): boolean;
  split(platform: string, text: string): readonly OutboundPart["content"][];
  onAdded(platform: string): void;
  /** Called with commands and resets, for hooks. */
  onEvent(event: HookEvent): void;
  /** When a chat gets a new session automatically. */
  readonly resetOptions: SessionResetOptions;
  readonly clock: Clock;
  /** The title of a session; undefined if it was deleted. */
  titleOf(sessionId: string): string | undefined;
  /** The command that pairs a person. */
  readonly pairCommand: (platform: string, code: string) => string;
}

/** Decides what to do with each stored message, in the order of arrival. No decision waits for a turn. */
export function createMessageHandler(parts: MessageHandlerParts) {
  const { database, inbox, outbox, chats, pairing, runner, rules, log } = parts;

  /** Handles all stored messages. */
  async function handleStored(signal: AbortSignal): Promise<void> {
    for (let entry = inbox.nextStored(); entry !== undefined; entry = inbox.nextStored()) {
      signal.throwIfAborted();
      const { key } = entry;
      try {
        await handle(entry, signal);
      } catch (error) {
        signal.throwIfAborted();
        log.error("a message could not be handled", { message: key, error: messageOf(error) });
        await database.write(() => inbox.settle(key, "failed", { reason: messageOf(error) }), signal);
      }
      await nextRound(); // a flood must not keep turns, timers and connections from running
    }
  }

  async function handle(entry: InboxEntry, signal: AbortSignal): Promise<void> {
    const { key, platform, message } = entry;
    const { chat, sender, text, handling } = message;
    const options = parts.optionsOf(platform);
    if (options === undefined)
      return settle(entry, "refused", "its platform is not configured any more", signal);
    const isPaired = sender.isProven && pairing.isPaired(platform, sender.id);
    const access = decideAccess(message, { options, everywhere: rules, isPaired });
    if (!access.isAllowed) return refuse(entry, access, signal);

    const chatKey = chatKeyOf(entry, message, rules);
    const target = { platform, chatId: chat.chatId, threadId: chat.threadId };
    const use = (): void => chats.use(chatKey, target, labelOf(entry));
    if (handling === "relay") {
      const to = message.replyTo ?? target;
      await database.write(() => {
        outbox.add({
          source: `inbox:${key}`,
          target: to,
          contents: parts.split(to.platform, text),
          inboxKey: key,
        });
        inbox.settle(key, "done");
      }, signal);
      return parts.onAdded(to.platform);
    }
    const isDirect = chat.type === "dm";
    if (handling === "context" || (!isDirect && !message.isAddressed && options.require_mention)) {
      const state = handling === "context" ? "noted" : "ignored";
      return database.write(() => {
        if (state === "noted") use();
        inbox.settle(key, state, state === "noted" ? { chatKey } : { reason: "it is not addressed to us" });
      }, signal);
    }

    const allowedCommands = Object.keys(CHAT_COMMANDS).filter((name) =>
      mayUseCommand(name, access.tier, isDirect, options),
    );
    const commandContext = {
      ...commandContextOf(entry, { chatKey, use, tier: access.tier }, signal),
      allowedCommands,
    };
    const reply = await replyAtOnce(entry, commandContext, signal);
    if (reply !== undefined) {
      await database.write(() => {
        use();
        outbox.add({
          source: `inbox:${key}`,
          target,
          contents: parts.split(platform, reply),
          repliesTo: message.id,
          inboxKey: key,
        });
        inbox.settle(key, "done", { chatKey });
      }, signal);
      return parts.onAdded(platform);
    }
    await queueOrSteer(entry, { chatKey, use, options, tier: access.tier }, signal);
  }

  /** Handles what needs no turn: a button, a command, the answer to a question of the running turn. */
  async function replyAtOnce(
    { message, platform }: InboxEntry,
    commandContext: CommandContext,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const running = runner.running(commandContext.chatKey);
    const askedFor = running === undefined ? [] : inbox.ofTurn(running.id);
    // In a shared session, a person cannot approve calls that were caused by a person with more rights.
    const mayAnswer =
      commandContext.tier === "admin" ||
      askedFor.some(({ message: one }) => one.sender.id === message.sender.id);
    const questions = mayAnswer ? (running?.questions() ?? []) : [];
    if (!mayAnswer && running?.questions().length && isAnswer(message))
      return "Only an admin, or the person whose message led to it, may answer that.";
    if (message.choice !== undefined) {
      const { questionId, words } = readButton(message.choice);
      const question = questions.find(({ id }) => id === questionId);
      const answered = question && (await answerQuestion(commandContext, question, words, signal));
      return answered ?? "That question does not wait any more.";
    }
    const command = parseChatCommand(message.text);
    if (isQueued(message.text)) return undefined;
    const row = command && CHAT_COMMANDS[command.name];
    if (command !== undefined && row !== undefined) {
      const { chat, sender } = message;
      parts.onEvent({ event: `command:${command.name}`, platform, chatId: chat.chatId, userId: sender.id });
      if (!commandContext.allowedCommands.includes(command.name))
        return `You may not use /${command.name} here. /help lists what you may use.`;
      return row.run(commandContext, command.rest, signal);
    }
    if (command !== undefined) return `There is no command /${command.name}. /help lists the commands.`;
    const [question] = questions;
    return question && answerQuestion(commandContext, question, message.text, signal);
  }

  /** Queues a message for the next turn of its chat, or adds it to the running turn as a note. */
  async function queueOrSteer(
    entry: InboxEntry,
    { chatKey, use, options, tier }: WaitingChat,
    signal: AbortSignal,
  ): Promise<void> {
    const { key, platform, message } = entry;
    const running = runner.running(chatKey);
    const chosen = chats.find(chatKey)?.choices.busy ?? rules.busy_input_mode;
    const mode = isQueued(message.text) ? "queue" : chosen;
    // A person who may use fewer tools must not steer a turn that has more.
    const mayNote = tier === "admin" || options.user_toolsets === null;
    const isNote =
      running !== undefined &&
      mode === "steer" &&
      mayNote &&
      !message.attachments &&
      running.state() === "running";
    const lastActiveAt = chats.lastActiveAt(chatKey);
    const isQuiet = running === undefined && lastActiveAt !== undefined && !chats.hasWaiting(chatKey);
    const facts = { type: typeOf(message.chat), lastActiveAt: lastActiveAt ?? 0, now: parts.clock.now() };
    const why = isQuiet ? whyReset(parts.resetOptions, options, facts) : undefined;
    await database.write(() => {
      use();
      if (why !== undefined) {
        const hadSession = chats.find(chatKey)?.sessionId !== undefined;
        chats.resetSession(chatKey);
        if (hadSession && parts.resetOptions.notify)
          outbox.add({
            source: `reset:${key}`,
            target: { platform, chatId: message.chat.chatId, threadId: message.chat.threadId },
            contents: parts.split(
              platform,
              `${why}, so this is a new session. /sessions lists the earlier ones.`,
            ),
          });
      }
      inbox.settle(key, "waiting", { chatKey });
      if (isNote) chats.attach(key, running.id);
      else if (running !== undefined && rules.busy_ack_enabled)
        outbox.add({
          source: `busy:${running.id}`,
          target: { platform, chatId: message.chat.chatId, threadId: message.chat.threadId },
          contents: parts.split(platform, ACKNOWLEDGEMENTS[mode]),
        });
    }, signal);
    if (why !== undefined) {
      parts.onEvent({
        event: "session:reset",
        platform,
        chatId: message.chat.chatId,
        userId: message.sender.id,
      });
      parts.onAdded(platform);
    }
    if (running === undefined) return runner.start(chatKey);
    if (isNote) runner.steer(chatKey, message.text);
    else parts.onAdded(platform);
    if (mode === "interrupt") await runner.stop(chatKey, new TurnRedirected("a new message ended the turn"));
  }

  async function refuse(
    entry: InboxEntry,
    { reason, mayPair }: { readonly reason: string; readonly mayPair: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { key, platform, message } = entry;
    await database.write(() => {
      inbox.settle(key, "refused", { reason });
      const code =
        mayPair && parts.answersStrangers(platform) ? pairing.request(platform, message.sender) : undefined;
      if (code === undefined) return;
      const spaced = `${code.slice(0, 4)} ${code.slice(4)}`;
      const text = `I do not know you yet. Give my owner this code, which is valid for an hour: ${spaced}\nThey run: ${parts.pairCommand(platform, code)}`;
      outbox.add({
        source: `pairing:${key}`,
        target: { platform, chatId: message.chat.chatId, threadId: message.chat.threadId },
        contents: parts.split(platform, text),
        inboxKey: key,
        isSecret: true,
      });
    }, signal);
    parts.onAdded(platform);
  }

  function commandContextOf(
    { message, platform }: InboxEntry,
    { chatKey, tier, use }: { readonly chatKey: string; readonly tier: Tier; readonly use: () => void },
    signal: AbortSignal,
  ): Omit<CommandContext, "allowedCommands"> {
    return {
      ...{ chatKey, tier, runner, chats },
      sender: message.sender,
      isDirect: message.chat.type === "dm",
      reset() {
        parts.onEvent({
          event: "session:reset",
          platform,
          chatId: message.chat.chatId,
          userId: message.sender.id,
        });
        return database.write(() => chats.resetSession(chatKey), signal);
      },
      resume: (sessionId) => database.write(() => chats.setSession(chatKey, sessionId), signal),
      titleOf: parts.titleOf,
      choose: (change) =>
        database.write(() => {
          use();
          chats.choose(chatKey, change);
        }, signal),
    };
  }

  function settle(
    { key }: InboxEntry,
    state: InboxState,
    reason: string,
    signal: AbortSignal,
  ): Promise<void> {
    return database.write(() => inbox.settle(key, state, { reason }), signal);
  }

  return { handleStored };
}

/** Whether a message can only be the answer to a question. */
function isAnswer({ choice, text }: StoredMessage): boolean {
  return choice !== undefined || ["approve", "deny"].includes(parseChatCommand(text)?.name ?? "");
}

interface WaitingChat {
  readonly chatKey: string;
  readonly use: () => void;
  readonly options: CommonOptions;
  readonly tier: Tier;
}

function typeOf({ type, threadId }: Chat): Chat["type"] {
  return threadId !== undefined && type !== "dm" ? "thread" : type;
}

const ACKNOWLEDGEMENTS = {
  queue: "I am still working on the last message; this one is next.",
  steer: "I am still working on the last message; this one is next.",
  interrupt: "I stop what I was doing and answer this.",
};

function labelOf({ message: { chat, sender } }: InboxEntry): string {
  const name = chat.name ?? sender.name ?? chat.chatId;
  return name.replace(/\s+/g, " ").slice(0, 80);
}
