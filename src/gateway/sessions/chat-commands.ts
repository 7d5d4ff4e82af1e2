import type { Answer, Approval } from "../../approvals/approval.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import type { Tier } from "../access/decide-access.ts";
import type { Sender } from "../platform.ts";
import { readChatAnswer } from "./chat-questions.ts";
import type { ChatRunner } from "./chat-runner.ts";
import type { ChatChoices, ChatTurns } from "./chat-turns.ts";

/** The chat in which a command was written, and who wrote it. */
export interface CommandScene {
  readonly chatKey: string;
  readonly sender: Sender;
  readonly tier: Tier;
  readonly isDirect: boolean;
  readonly runner: ChatRunner;
  readonly chats: ChatTurns;
  /** What the tier allows in this scope. */
  readonly allowed: readonly string[];
  /** Starts a new session with the next message. */
  reset(): Promise<void>;
  /** Keeps what people choose for this chat. */
  choose(change: ChatChoices): Promise<void>;
}

interface CommandRow {
  readonly summary: string;
  /** Shown after the name in help. */
  readonly words?: string;
  run(scene: CommandScene, rest: string, signal: AbortSignal): Promise<string> | string;
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

const SWITCH: Readonly<Record<string, boolean>> = { on: true, off: false };

async function startNew({ runner, chatKey, reset }: CommandScene): Promise<string> {
  await runner.stop(chatKey);
  await reset();
  return "Your next message starts a new session.";
}

async function answerOldest(scene: CommandScene, words: string, signal: AbortSignal): Promise<string> {
  const [question] = scene.runner.running(scene.chatKey)?.questions() ?? [];
  if (question === undefined) return "Nothing waits for an answer here.";
  return (
    (await answerQuestion(scene, question, words, signal)) ?? "That is no answer to the question that waits."
  );
}

/** Answers a question of the running turn, and says so; undefined if the words are no answer to it. */
export async function answerQuestion(
  { runner, chatKey, sender }: Pick<CommandScene, "runner" | "chatKey" | "sender">,
  question: Approval,
  words: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const answer = readChatAnswer(question, words);
  const turn = runner.running(chatKey);
  if (answer === undefined || turn === undefined) return undefined;
  try {
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
