import type { Answer, Approval } from "../../approvals/approval.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import { formatTime } from "../../lib/time/format-time.ts";
import type { Tier } from "../access/decide-access.ts";
import type { Sender } from "../platform.ts";
import { readChatAnswer } from "./chat-questions.ts";
import type { ChatRunner } from "./chat-runner.ts";
import type { BusyMode, ChatChoices, ChatStore } from "./chat-store.ts";

/** The chat in which a command was written, and who wrote it. */
export interface CommandContext {
  readonly chatKey: string;
  readonly sender: Sender;
  readonly tier: Tier;
  readonly isDirect: boolean;
  readonly runner: ChatRunner;
  readonly chats: ChatStore;
  /** The names of the commands that the sender may use in this chat. */
  readonly allowedCommands: readonly string[];
  /** Starts a new session with the next message. */
  reset(): Promise<void>;
  /** Continues an earlier session with the next message. */
  resume(sessionId: string): Promise<void>;
  /** The title of a session; undefined if it was deleted. */
  titleOf(sessionId: string): string | undefined;
  /** Stores what people choose for this chat. */
  choose(change: ChatChoices): Promise<void>;
}

interface CommandRow {
  readonly summary: string;
  /** The arguments of the command, as help shows them after its name. */
  readonly words?: string;
  run(context: CommandContext, rest: string, signal: AbortSignal): Promise<string> | string;
}

/** The commands of chats on platforms. None of them waits for a turn. */
export const CHAT_COMMANDS: Readonly<Record<string, CommandRow>> = {
  help: {
    summary: "list the commands",
    run: ({ allowedCommands }) =>
      allowedCommands
        .map((name) => {
          const { words = "", summary } = CHAT_COMMANDS[name] ?? { summary: "" };
          return `/${name}${words === "" ? "" : ` ${words}`}: ${summary}`;
        })
        .join("\n"),
  },
  whoami: {
    summary: "show who you are here and what you may do",
    run: ({ sender, tier, isDirect, allowedCommands }) =>
      `You are ${sender.id}, ${tier} in ${isDirect ? "direct chats" : "groups"}. Commands: ${allowedCommands.map((name) => `/${name}`).join(" ")}`,
  },
  new: { summary: "start a new session", run: (context) => startNew(context) },
  reset: { summary: "the same as /new", run: (context) => startNew(context) },
  stop: {
    summary: "stop the running turn",
    run: async ({ runner, chatKey }) => ((await runner.stop(chatKey)) ? "Stopping." : "Nothing runs here."),
  },
  sessions: {
    summary: "list the sessions of this chat",
    run: (context) => listSessions(context),
  },
  resume: {
    words: "NUMBER",
    summary: "continue a session of this chat, by its number in /sessions",
    run: (context, rest) => resumeSession(context, rest),
  },
  queue: {
    words: "TEXT",
    summary: "write a message that is answered after the running turn, whatever /busy says",
    run: () => "Write the message after /queue.",
  },
  busy: {
    words: "queue|steer|interrupt",
    summary: "choose what happens here with a message while a turn runs",
    async run({ choose }, rest) {
      const mode = BUSY_MODES.find((one) => one === rest.toLowerCase());
      if (mode === undefined) return `Write /busy ${BUSY_MODES.join(", /busy ")}.`;
      await choose({ busy: mode });
      return BUSY_WORDS[mode];
    },
  },
  steer: {
    words: "TEXT",
    summary: "add a note to the running turn",
    run({ runner, chatKey }, rest) {
      if (rest === "") return "Write the note after /steer.";
      return runner.steer(chatKey, rest) ? "Noted." : "Nothing runs here; write it as a message.";
    },
  },
  status: {
    summary: "show the session and what runs in it",
    run({ chats, chatKey, runner }) {
      const { sessionId } = chats.find(chatKey) ?? {};
      const turn = runner.running(chatKey);
      const work = turn === undefined ? "Nothing runs." : `A turn is ${turn.state()}.`;
      return `${sessionId === undefined ? "The next message starts a new session." : `Session ${sessionId}.`} ${work}`;
    },
  },
  footer: {
    words: "on|off",
    summary: "switch the line about the model and its context at the end of answers",
    async run({ choose }, rest) {
      const chosen = SWITCH[rest.toLowerCase()];
      if (chosen === undefined) return "Write /footer on or /footer off.";
      await choose({ footer: chosen });
      return chosen ? "Answers end with a footer from now on." : "Answers have no footer from now on.";
    },
  },
  approve: {
    words: "[session|always]",
    summary: "allow the call that waits",
    run: (context, rest, signal) => answerOldest(context, rest === "" ? "yes" : rest, signal),
  },
  deny: {
    words: "[REASON]",
    summary: "refuse the call that waits",
    run: (context, rest, signal) => answerOldest(context, rest === "" ? "no" : `no: ${rest}`, signal),
  },
};

const SHOWN_SESSIONS = 10;
const BUSY_MODES: readonly BusyMode[] = ["queue", "steer", "interrupt"];
const BUSY_WORDS: Readonly<Record<BusyMode, string>> = {
  queue: "A message that arrives while a turn runs is answered afterwards.",
  steer: "A message that arrives while a turn runs is a note to that turn.",
  interrupt: "A message that arrives while a turn runs stops that turn.",
};

/** Lists only sessions of this chat, so that no person can resume another person's session by its id. */
function knownSessions({ chats, chatKey, titleOf }: CommandContext) {
  return chats.sessionsOf(chatKey, SHOWN_SESSIONS).flatMap(({ id, at }) => {
    const title = titleOf(id);
    return title === undefined ? [] : [{ id, at, title }];
  });
}

function listSessions(context: CommandContext): string {
  const current = context.chats.find(context.chatKey)?.sessionId;
  const lines = knownSessions(context).map(
    ({ id, at, title }, index) =>
      `${index + 1}. ${title} (${formatTime(at)})${id === current ? ", the current one" : ""}`,
  );
  return lines.length === 0 ? "No session has answered here yet." : lines.join("\n");
}

async function resumeSession(context: CommandContext, rest: string): Promise<string> {
  const chosen = knownSessions(context)[Number(rest) - 1];
  if (chosen === undefined) return "Write /resume and a number from /sessions.";
  await context.runner.stop(context.chatKey);
  await context.resume(chosen.id);
  return `Your next message continues: ${chosen.title}`;
}

const SWITCH: Readonly<Record<string, boolean>> = { on: true, off: false };

async function startNew({ runner, chatKey, reset }: CommandContext): Promise<string> {
  await runner.stop(chatKey);
  await reset();
  return "Your next message starts a new session.";
}

async function answerOldest(context: CommandContext, words: string, signal: AbortSignal): Promise<string> {
  const [question] = context.runner.running(context.chatKey)?.questions() ?? [];
  if (question === undefined) return "Nothing waits for an answer here.";
  return (
    (await answerQuestion(context, question, words, signal)) ?? "That does not answer the open question."
  );
}

/** Answers a question of the running turn and returns the confirmation; undefined if the words do not answer it. */
export async function answerQuestion(
  { runner, chatKey, sender }: Pick<CommandContext, "runner" | "chatKey" | "sender">,
  question: Approval,
  words: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const turn = runner.running(chatKey);
  try {
    const answer = readChatAnswer(question, words);
    if (answer === undefined || turn === undefined) return undefined;
    const by: Answer = {
      ...answer,
      by: sender.name === undefined ? sender.id : `${sender.name} (${sender.id})`,
    };
    const { state } = await turn.answer(question.id, by, signal);
    return `${state === "approved" ? "Approved" : state === "denied" ? "Denied" : "Answered"}.`;
  } catch (error) {
    if (error instanceof AppError) return messageOf(error);
    throw error;
  }
}
