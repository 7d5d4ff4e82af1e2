import { setMaxListeners } from "node:events";
import type { AgentEventOf } from "../../agent/events.ts";
import type { TurnLimits } from "../../agent/turn-limits.ts";
import type { Surface } from "../../conversation/conversation-request.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import { isHealedByTime } from "../../lib/sqlite/database-error.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { formatDuration } from "../../lib/time/format-time.ts";
import type { FoundTurn } from "../../sessions/rows/find-turn.ts";
import type { OutgoingFile } from "../../tools/tool-parts.ts";
import type { HostedTurn, HostedTurnResult, TurnHost, TurnMessage } from "../../turns/turn-host.ts";
import type { TurnFacts } from "../answers/answer-footer.ts";
import { type FollowedTurn, followTurn } from "../answers/follow-turn.ts";
import type { GrowingAnswerParts, ShownText, StreamingRules } from "../answers/growing-answer.ts";
import { createGrowingMessages } from "../answers/growing-messages.ts";
import type { HookEvent } from "../hooks/hooks.ts";
import type { Inbox, InboxEntry } from "../inbox/inbox.ts";
import type { Outbox } from "../outbox/outbox.ts";
import { keepOutgoingFile } from "../outbox/outgoing-files.ts";
import type { ChatAddress, OutboundPart } from "../platform.ts";
import { isSharedKey } from "./chat-key.ts";
import { askInChat } from "./chat-questions.ts";
import type { ChatRecord, ChatStore, ChatTurn } from "./chat-store.ts";
import { composeMessage, continueMessage } from "./turn-message.ts";
import { createTurnSlots } from "./turn-slots.ts";

export interface ChatRunnerParts {
  readonly database: Database;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly chats: ChatStore;
  readonly turns: TurnHost;
  readonly limits: TurnLimits;
  /** The maximum number of turns that run at the same time, in all chats together. */
  readonly maxTurns: number;
  /** The folder for files that are sent. */
  readonly outgoing: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Finds a turn in the transcripts; not by its time, because the clock may have been set back meanwhile. */
  findTurn(id: string): FoundTurn | undefined;
  /** Resolves when files can be written again. */
  waitForSpace(): Promise<void>;
  /** How sessions of a platform are opened; undefined if the platform is no longer configured. */
  surfaceOf(platform: string, toolsets: readonly string[] | undefined): Surface;
  /** Called with what happens in turns, for hooks. */
  onEvent(event: HookEvent): void;
  /** The groups of tools that a message may use; undefined means all. */
  toolsetsOf(entry: InboxEntry): readonly string[] | undefined;
  /** Divides a text for a platform. */
  split(platform: string, text: string): readonly OutboundPart["content"][];
  /** The whole text as a file, if it is too long for messages and the platform carries files. */
  spill(platform: string, text: string): Promise<OutboundPart["content"] | undefined>;
  /** Called after something was added to the outbox. */
  onAdded(platform: string): void;
  /** How answers grow. */
  readonly streaming: StreamingRules;
  /** Edits messages of a chat; undefined where answers do not grow. */
  findEditor(platform: string, chat: ChatAddress): GrowingAnswerParts["edit"] | undefined;
  /** The last line of an answer; empty for none. */
  footerOf(chat: ChatRecord, facts: TurnFacts): string;
  /** Shows that an answer is being written; may get lost. */
  showTyping(platform: string, chat: ChatAddress): void;
}

/** After this many interrupted turns in a row, a message is given up. */
const MAX_INTERRUPTIONS = 3;
const RETRY_FULL_MS = 1_000;

export type ChatRunner = ReturnType<typeof createChatRunner>;

/**
 * Runs the turns of all chats, at most one per chat. The order of the records makes sure that a crash between two of them neither
 * loses nor repeats anything: first the turn with its id, then the message in the session under that id, then the answer in the outbox.
 */
export function createChatRunner(parts: ChatRunnerParts) {
  const { database, inbox, outbox, chats, turns, clock, log } = parts;
  const recordSignal = new AbortController().signal;
  setMaxListeners(0, recordSignal); // every waiting chat may listen to it
  const slots = createTurnSlots(parts.maxTurns);
  const lanes = new Map<string, Promise<void>>();
  const hosted = new Map<string, HostedTurn>();
  /** The turn that runs in each session. */
  const bySession = new Map<string, Pick<ChatTurn, "id" | "chatKey">>();
  /** How often in a row the turns of a chat failed because they could not be stored. */
  const unstored = new Map<string, number>();
  const live = createGrowingMessages({ outbox, clock, rules: parts.streaming, split: parts.split, add });
  let isStopping = false;

  /** Runs turns of a chat until none of its messages waits. */
  function start(chatKey: string, first?: () => Promise<void>): void {
    if (lanes.has(chatKey) || isStopping) return;
    const run = async (): Promise<void> => {
      if (first !== undefined) {
        using _slot = await slots.take();
        if (!isStopping) await first();
      }
      while (await runNext(chatKey));
    };
    const lane = run()
      .catch((error: unknown) => log.error("a chat stopped", { chat: chatKey, error: messageOf(error) }))
      .finally(() => {
        lanes.delete(chatKey);
        if (!isStopping && chats.hasWaiting(chatKey)) start(chatKey);
      });
    lanes.set(chatKey, lane);
  }

  /** Runs a turn for the waiting messages of a chat; false if no message waits. */
  async function runNext(chatKey: string): Promise<boolean> {
    using _slot = await slots.take(); // before the turn is recorded: a flood must not record turns that cannot run yet
    const id = isStopping ? undefined : await chats.begin(chatKey, recordSignal);
    if (id === undefined) return false;
    const entries = inbox.ofTurn(id);
    const message = await composeMessage(entries, isSharedKey(chatKey));
    await runTurn({ id, chatKey }, message, entries);
    return true;
  }

  async function runTurn(
    turn: Pick<ChatTurn, "id" | "chatKey">,
    message: TurnMessage,
    entries: readonly InboxEntry[],
  ): Promise<void> {
    const { id, chatKey } = turn;
    const chat = requireChat(chatKey);
    const toolsets = commonToolsets(entries.map((entry) => parts.toolsetsOf(entry)));
    const open = (sessionId: string | undefined): HostedTurn =>
      turns.start({
        id,
        sessionId,
        opening: { surface: parts.surfaceOf(chat.target.platform, toolsets) },
        message,
        limits: parts.limits,
        whenBusy: "wait",
      });
    let followed: FollowedTurn;
    try {
      followed = await follow(open(chat.sessionId), turn, chat, entries);
      if (isCode(followed.result, "session-not-found"))
        followed = await follow(open(undefined), turn, chat, entries);
    } catch (error) {
      followed = { result: { error }, shownText: undefined, facts: NO_FACTS };
    }
    const { result } = followed;
    if (isCode(result, "turns-full") || isCode(result, "turns-draining")) {
      await chats.giveBack(id, recordSignal);
      if (!isStopping) await clock.sleep(RETRY_FULL_MS, recordSignal);
      return;
    }
    if (isUnstored(result) && (unstored.get(chatKey) ?? 0) < MAX_INTERRUPTIONS) {
      unstored.set(chatKey, (unstored.get(chatKey) ?? 0) + 1);
      return continueUnstored(turn);
    }
    unstored.delete(chatKey);
    // A turn that was stopped because the gateway stops is continued by the next gateway.
    if (isStopping && (result.end === undefined || result.end.outcome === "stopped")) return;
    await finish(turn, followed, entries);
  }

  /** Continues a turn whose steps could not be stored, as after a crash, once there is space again. */
  async function continueUnstored({ id }: Pick<ChatTurn, "id">): Promise<void> {
    await parts.waitForSpace();
    const turn = chats.findTurn(id);
    if (isStopping || turn?.state !== "running") return;
    const next = await settle(turn);
    await next?.();
  }

  /** Follows a turn to its end, and shows its questions and its text in the chat. */
  async function follow(
    one: HostedTurn,
    turn: Pick<ChatTurn, "id" | "chatKey">,
    chat: ChatRecord,
    entries: readonly InboxEntry[],
  ): Promise<FollowedTurn> {
    hosted.set(turn.chatKey, one);
    const { platform, ...address } = chat.target;
    const goesElsewhere = entries.some(({ message }) => message.replyTo !== undefined);
    const edit = goesElsewhere ? undefined : parts.findEditor(platform, address);
    const facts = {
      platform,
      chatId: address.chatId,
      turnId: turn.id,
      userId: entries[0]?.message.sender.id ?? "",
    };
    try {
      const followed = await followTurn(one, {
        clock,
        growingAnswer: edit && live.open(turn.id, { target: chat.target, answers: entries }, edit),
        showTyping: () => parts.showTyping(platform, address),
        onOpened({ sessionId }) {
          bySession.set(sessionId, turn);
          const text = entries.map(({ message }) => message.text).join("\n");
          if (sessionId !== chat.sessionId) parts.onEvent({ event: "session:start", ...facts, sessionId });
          parts.onEvent({ event: "agent:start", ...facts, sessionId, text });
          return chats.adopt(turn, sessionId, recordSignal);
        },
        onQuestion: ({ approval }) =>
          add({
            source: `question:${turn.id}:${approval.id}`,
            target: chat.target,
            contents: [askInChat(approval)],
          }),
        onTool: (tool, outcome) => parts.onEvent({ event: "agent:step", ...facts, tool, outcome }),
      });
      const { end } = followed.result;
      parts.onEvent({
        event: "agent:end",
        ...facts,
        outcome: end?.outcome ?? "failed",
        text: end?.text ?? "",
      });
      return followed;
    } finally {
      hosted.delete(turn.chatKey);
      for (const [sessionId, { id }] of bySession) if (id === turn.id) bySession.delete(sessionId);
    }
  }

  /** Stores a file that a running turn sends. A call that is repeated after a crash sends it only once. */
  async function sendFile({ owner, callId, ...file }: OutgoingFile): Promise<void> {
    const turn = bySession.get(owner);
    if (turn === undefined) throw new AppError("turn-stopped", "The turn has ended.");
    const { target } = requireChat(turn.chatKey);
    const content = await keepOutgoingFile(file, parts.outgoing);
    await add({
      source: `file:${owner}:${callId}`,
      target,
      contents: [content],
      inboxKey: inbox.ofTurn(turn.id)[0]?.key,
    });
  }

  /** Writes the answer and the end of the turn in one transaction. */
  async function finish(
    turn: Pick<ChatTurn, "id" | "chatKey">,
    { result, shownText, facts }: FollowedTurn,
    entries: readonly InboxEntry[],
  ): Promise<void> {
    const { end } = result;
    if (end !== undefined) return answer(turn, end, entries, { shownText, facts });
    const { error } = result;
    if (!(error instanceof AppError)) log.error("a turn failed", { turn: turn.id, error: messageOf(error) });
    const text =
      error instanceof AppError
        ? `I could not answer: ${error.message} ${error.hint}`
        : "I could not answer because of a fault in the gateway; its log has the details.";
    return write(turn, { outcome: "failed", text, failure: messageOf(error), shownText }, entries);
  }

  function answer(
    turn: Pick<ChatTurn, "id" | "chatKey">,
    {
      text,
      outcome,
      reason,
      hint,
    }: Pick<AgentEventOf<"turn-end">, "text" | "reason" | "hint"> & { readonly outcome: string },
    entries: readonly InboxEntry[],
    { shownText, facts }: Pick<FollowedTurn, "shownText"> & { readonly facts?: TurnFacts } = {
      shownText: undefined,
    },
  ): Promise<void> {
    const why = outcome === "completed" ? [] : [[reason, hint].filter(Boolean).join(" ")];
    const whole = [text.trim(), ...why].filter((part) => part !== "").join("\n\n");
    const footer =
      facts === undefined || outcome !== "completed" ? "" : parts.footerOf(requireChat(turn.chatKey), facts);
    return write(
      turn,
      {
        outcome,
        text: whole === "" ? "(I have nothing to say to that.)" : whole,
        footer,
        failure: outcome === "failed" ? (reason ?? "the turn failed") : undefined,
        // The text that people have already seen stays, followed by the reason why it ended.
        shownText: text.trim() === "" ? shownText : shownText && { ...shownText, text: "" },
      },
      entries,
    );
  }

  async function write(
    turn: Pick<ChatTurn, "id" | "chatKey">,
    { outcome, text, footer = "", failure, shownText }: WrittenAnswer,
    entries: readonly InboxEntry[],
  ): Promise<void> {
    const first = entries[0];
    const target =
      entries.find(({ message }) => message.replyTo)?.message.replyTo ?? requireChat(turn.chatKey).target;
    const begun =
      shownText?.segment === undefined || shownText.text.trim() === "" ? "" : `${shownText.text.trim()} […]`;
    const whole = [begun, text, footer].filter((part) => part !== "").join("\n\n");
    const file = await parts.spill(target.platform, whole);
    await database.write(() => {
      outbox.add({
        source:
          shownText?.segment === undefined ? `turn:${turn.id}` : live.nameOf(turn.id, shownText.segment),
        isRevision: shownText?.segment !== undefined,
        target,
        contents: [...parts.split(target.platform, whole), ...(file === undefined ? [] : [file])],
        repliesTo: target.platform === first?.platform ? entries.at(-1)?.message.id : undefined,
        inboxKey: first?.key,
      });
      chats.end(turn, outcome, failure);
    }, recordSignal);
    parts.onAdded(target.platform);
  }

  async function add(message: Parameters<Outbox["add"]>[0]): Promise<void> {
    await database.write(() => outbox.add(message), recordSignal);
    parts.onAdded(message.target.platform);
  }

  function requireChat(key: string): ChatRecord {
    const chat = chats.find(key);
    if (chat === undefined) throw new Error(`there is no chat ${key}`);
    return chat;
  }

  /**
   * Ends an interrupted turn: it is answered, given up, or started again if it had not begun. Otherwise returns a function that
   * continues it. With `downMs`, the time without a gateway, it is not continued because that time was too long.
   */
  async function settle(turn: ChatTurn, downMs?: number): Promise<(() => Promise<void>) | undefined> {
    const entries = inbox.ofTurn(turn.id);
    const found = parts.findTurn(turn.id);
    if (found === undefined && turn.resumes === undefined) {
      await chats.giveBack(turn.id, recordSignal);
      return undefined;
    }
    if (found !== undefined) await chats.adopt(turn, found.sessionId, recordSignal);
    const isStopped = turn.outcome === "stopped"; // by a person; otherwise by the end of the gateway
    if (found?.outcome !== undefined && (found.outcome !== "stopped" || isStopped) && !isCutOff(found)) {
      await answer(turn, { ...found, outcome: found.outcome }, entries, {
        shownText: live.findShown(turn.id, found.text),
      });
      return undefined;
    }
    if (downMs !== undefined) {
      const text = `I was interrupted while I worked on this, and could not run for ${formatDuration(downMs)} since then. Write "continue" if I still should.`;
      const failure = "interrupted, and not continued after so long a time";
      await write(turn, { outcome: "failed", text, failure, shownText: live.findShown(turn.id) }, entries);
      return undefined;
    }
    if (requireChat(turn.chatKey).interruptions >= MAX_INTERRUPTIONS) {
      await database.write(() => chats.resetSession(turn.chatKey), recordSignal);
      const text = `I was interrupted ${MAX_INTERRUPTIONS} times in a row while I worked on this, and give it up. Your next message starts a new session.`;
      const failure = "interrupted too often";
      await write(turn, { outcome: "failed", text, failure, shownText: live.findShown(turn.id) }, entries);
      return undefined;
    }
    const id = await chats.continueTurn(turn, recordSignal);
    await live.breakOff(turn.id, { target: requireChat(turn.chatKey).target, answers: entries });
    const next = { id, chatKey: turn.chatKey };
    return () => runTurn(next, continueMessage(lateNotes(entries, turn)), inbox.ofTurn(id));
  }

  /** Settles the turns of an earlier process. With `downMs`, no turn is continued until its person asks for that. */
  async function recover(downMs: number | undefined): Promise<void> {
    for (const turn of chats.running()) {
      const next = await settle(turn, downMs);
      if (next !== undefined) start(turn.chatKey, next);
    }
    for (const chatKey of chats.waiting()) start(chatKey);
  }

  return {
    start,
    recover,
    sendFile,
    running: (chatKey: string): HostedTurn | undefined => hosted.get(chatKey),
    /** Stops the turn of a chat, which is then not continued; false if none runs. Its tools get the reason. */
    async stop(chatKey: string, reason?: Error): Promise<boolean> {
      const turn = hosted.get(chatKey);
      if (turn === undefined) return false;
      await chats.markStopped(turn.id, recordSignal); // first, so that the next gateway does not continue it
      turn.stop(reason);
      return true;
    },
    busy: (): readonly string[] => [...lanes.keys()],
    /** Adds a note to the running turn; false if no turn runs. */
    steer: (chatKey: string, text: string): boolean => hosted.get(chatKey)?.steer(text) ?? false,
    /** Starts no further turn, waits for the running turns, and stops those that still run when the signal aborts. */
    async drain(signal: AbortSignal): Promise<void> {
      isStopping = true;
      await turns.drain(signal);
      await Promise.all(lanes.values());
    },
  };

  function lateNotes(entries: readonly InboxEntry[], { startedAt }: ChatTurn): string[] {
    return entries.filter(({ receivedAt }) => receivedAt > startedAt).map(({ message }) => message.text);
  }
}

/** Whether another process recorded the end of the turn because its own process was killed. */
function isCutOff({ outcome, reason }: FoundTurn): boolean {
  return outcome === "failed" && reason === "Hermes exited before the turn ended.";
}

function isCode(result: HostedTurnResult, code: string): boolean {
  return result.end === undefined && result.error instanceof AppError && result.error.code === code;
}

/** Whether the steps of a turn could not be stored; a long turn then also loses the lease of its session. */
function isUnstored(result: HostedTurnResult): boolean {
  if (result.end !== undefined) return false;
  const { error } = result;
  return (
    isHealedByTime(error) || (isCode(result, "session-lost") && isHealedByTime((error as AppError).cause))
  );
}

/** The toolsets that every message of a turn may use. */
function commonToolsets(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const [first, ...others] = lists.filter((list) => list !== undefined);
  return first?.filter((name) => others.every((list) => list.includes(name)));
}

interface WrittenAnswer {
  readonly outcome: string;
  readonly text: string;
  readonly footer?: string;
  /** Why the turn did not complete its answer. */
  readonly failure: string | undefined;
  readonly shownText: ShownText | undefined;
}

const NO_FACTS: TurnFacts = { model: undefined, contextTokens: undefined, windowTokens: undefined };
