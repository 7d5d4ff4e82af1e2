import { PLATFORM_NAMES } from "../../../../gateway/platforms/platform-registry.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { AddVerb } from "../../../define-command.ts";
import { type KanbanContext, type OpenBoardContext, showTask } from "../kanban-context.ts";
import { onBoard, reportTask } from "../verb.ts";

interface NotifyOptions {
  readonly platform: string;
  readonly chatId: string;
  readonly threadId?: string;
  readonly json?: boolean;
}

/** The verbs that subscribe a chat to notifications about a task; the gateway sends them. */
export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  const addVerb = (name: string, description: string, example: string) =>
    add(name, description, [example])
      .argument("<task>")
      .requiredOption("--platform <name>", "platform of the chat")
      .requiredOption("--chat-id <id>", "id of the chat")
      .option("--thread-id <id>", "id of a thread in it");
  addVerb(
    "notify-subscribe",
    "Notify a chat when the task is done, blocked or failed; the gateway does it.",
    "hermes kanban notify-subscribe 12 --platform irc --chat-id anna",
  ).action(onBoard(kanbanContext, subscribeChat));
  addVerb(
    "notify-unsubscribe",
    "Stop notifying a chat about a task.",
    "hermes kanban notify-unsubscribe 12 --platform irc --chat-id anna",
  ).action(onBoard(kanbanContext, unsubscribeChat));
}

async function subscribeChat(open: OpenBoardContext, id: string, options: NotifyOptions): Promise<void> {
  const { platform, chatId, threadId } = options;
  if (!(PLATFORM_NAMES as readonly string[]).includes(platform))
    throw new AppError("usage-wrong", `There is no platform ${platform}.`, {
      hint: `Choose one of ${PLATFORM_NAMES.join(", ")}.`,
    });
  const { task } = await showTask(open, id);
  const notifierProfile = open.app.profile.name;
  await open.client.subscribe(
    task.id,
    { platform, chatId, notifierProfile, ...(threadId !== undefined && { threadId }) },
    open.signal,
  );
  reportTask(open, task, `Subscribed ${chatId} on ${platform} to #${task.seq}.`, options);
}

async function unsubscribeChat(open: OpenBoardContext, id: string, options: NotifyOptions): Promise<void> {
  const { platform, chatId, threadId = "" } = options;
  const { task } = await showTask(open, id);
  const key = { task_id: task.id, platform, chat_id: chatId, thread_id: threadId };
  const wasSubscribed = await open.client.unsubscribe(key, open.signal);
  const sentence = wasSubscribed
    ? `Unsubscribed ${chatId} on ${platform} from #${task.seq}.`
    : `${chatId} on ${platform} was not subscribed to #${task.seq}.`;
  reportTask(open, task, sentence, options);
}
