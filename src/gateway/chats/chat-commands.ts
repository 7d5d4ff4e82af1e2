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
  /** What the tier allows in this scope. */
  readonly allowed: readonly string[];
  /** Starts a new session with the next message. */
  reset(): Promise<void>;
  /** Continues an earlier session with the next message. */
  resume(sessionId: string): Promise<void>;
  /** The title of a session; undefined if it was deleted. */
  titleOf(sessionId: string): string | undefined;
  /** Keeps what people choose for this chat. */
  choose(change: ChatChoices): Promise<void>;
}

interface CommandRow {
  readonly summary: string;
  /** Shown after the name in help. */
  readonly words?: string;
  run(scene: CommandContext, rest: string, signal: AbortSignal): Promise<string> | string;
}

/** The commands of chats on platforms. None of them waits for a turn. */
export const CHAT_COMMANDS: Readonly<Record<string, CommandRow>> = {
  help: {
    summary: "list the commands",
    run: ({ allowed }) =>
      allowed
        .map((name) => {
          const { words = "", summary } = CHAT_COMMANDS[name] ?? { summary: "" };
          return `/${name}${words === "" ? "" : ` ${words}`}: ${summary}`;
        })
        .join("\n"),
  },
  whoami: {
    summary: "show who you are here and what you may do",
    run: ({ sender, tier, isDirect, allowed }) =>
      `You are ${sender.id}, ${tier} in ${isDirect ? "direct chats" : "groups"}. Commands: ${allowed.map((name) => `/${name}`).join(" ")}`,
  },
  new: { summary: "start a new session", run: (scene) => startNew(scene) },
  reset: { summary: "the same as /new", run: (scene) => startNew(scene) },
  stop: {
    summary: "stop the running turn",
    run: async ({ runner, chatKey }) => ((await runner.stop(chatKey)) ? "Stopping." : "Nothing runs here."),
  },
  sessions: {
    summary: "list the sessions of this chat",
    run: (scene) => listSessions(scene),
  },
  resume: {
    words: "NUMBER",
    summary: "continue a session of this chat, by its number in /sessions",
    run: (scene, rest) => resumeSession(scene, rest),
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
    summary: "give the running turn a note",
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
    summary: "end each answer with a line about the model and its context, or no longer",
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
    run: (scene, rest, signal) => answerOldest(scene, rest === "" ? "yes" : rest, signal),
  },
  deny: {
    words: "[REASON]",
    summary: "refuse the call that waits",
    run: (scene, rest, signal) => answerOldest(scene, rest === "" ? "no" : `no: ${rest}`, signal),
  },
};

const SHOWN_SESSIONS = 10;
const BUSY_MODES: readonly BusyMode[] = ["queue", "steer", "interrupt"];
const BUSY_WORDS: Readonly<Record<BusyMode, string>> = {
  queue: "A message that arrives while a turn runs is answered afterwards.",
  steer: "A message that arrives while a turn runs is a note to that turn.",
  interrupt: "A message that arrives while a turn runs stops that turn.",
};

/** Only sessions of the same chat: nobody reaches the session of somebody else by its id. */
function knownSessions({ chats, chatKey, titleOf }: CommandContext) {
  return chats.sessionsOf(chatKey, SHOWN_SESSIONS).flatMap(({ id, at }) => {
    const title = titleOf(id);
    return title === undefined ? [] : [{ id, at, title }];
  });
}

function listSessions(scene: CommandContext): string {
  const current = scene.chats.find(scene.chatKey)?.sessionId;
  const lines = knownSessions(scene).map(
    ({ id, at, title }, index) =>
      `${index + 1}. ${title} (${formatTime(at)})${id === current ? ", the current one" : ""}`,
  );
  return lines.length === 0 ? "No session has answered here yet." : lines.join("\n");
}

async function resumeSession(scene: CommandContext, rest: string): Promise<string> {
  const chosen = knownSessions(scene)[Number(rest) - 1];
  if (chosen === undefined) return "Write /resume and a number from /sessions.";
  await scene.runner.stop(scene.chatKey);
  await scene.resume(chosen.id);
  return `Your next message continues: ${chosen.title}`;
}

const SWITCH: Readonly<Record<string, boolean>> = { on: true, off: false };

async function startNew({ runner, chatKey, reset }: CommandContext): Promise<string> {
  await runner.stop(chatKey);
  await reset();
  return "Your next message starts a new session.";
}

async function answerOldest(scene: CommandContext, words: string, signal: AbortSignal): Promise<string> {
  const [question] = scene.runner.running(scene.chatKey)?.questions() ?? [];
  if (question === undefined) return "Nothing waits for an answer here.";
  return (
    (await answerQuestion(scene, question, words, signal)) ?? "That is no answer to the question that waits."
  );
}

/** Answers a question of the running turn, and says so; undefined if the words are no answer to it. */
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
