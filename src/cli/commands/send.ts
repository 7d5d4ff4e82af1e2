import type { Command } from "commander";
import { openSender, type Sender, type SentMessage } from "../../app/server/send.ts";
import { formatTarget } from "../../gateway/directory/chat-directory.ts";
import { AppError } from "../../lib/errors.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { formatTime } from "../../lib/time/format-time.ts";
import type { CommandContext, JsonOption } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { parseCount } from "../parse-option.ts";
import { requirePerson } from "../require-person.ts";
import { startApp } from "../start-app.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import { readPipedInput, readStandardInput } from "../terminal/read-standard-input.ts";
import { renderTable } from "../terminal/table.ts";

interface SendOptions extends JsonOption {
  readonly to?: string;
  readonly file?: string;
  readonly list?: boolean;
  readonly name?: string;
  readonly queue?: boolean;
  readonly timeout: number;
}

const MAX_INPUT_BYTES = 1_000_000;
const POLL_MS = 100;

/** `hermes send` stores a message to a chat, which the running gateway delivers. No model is involved. */
export function build(context: CommandContext): Command {
  const send = defineCommand(
    "hermes send",
    "Send a message to a chat on a messaging platform, without a model.",
    context.terminal,
  )
    .argument("[text...]", "the message; `-` or nothing reads standard input")
    .option(
      "--to <target>",
      "PLATFORM (its home channel), PLATFORM:CHAT by name or id, or an alias; commas for several",
    )
    .option("--file <path>", "also send a file")
    .option("--list", "list the chats that messages can be sent to")
    .option("--name <name>", "name of the message; messages with the same name are sent only once")
    .option("--queue", "leave the message for the next gateway if none runs")
    .option("--timeout <seconds>", "how long to wait for the delivery", parseCount, 60)
    .option("--json", "print JSON")
    .action((words: string[], options: SendOptions) => sendText(context, words, options));
  return withExamples(send, [
    'hermes send --to telegram "The build is green"',
    "df -h | hermes send --to irc:#team",
    "hermes send --list",
  ]);
}

async function sendText(
  context: CommandContext,
  words: readonly string[],
  options: SendOptions,
): Promise<void> {
  const { signal } = context;
  const app = await startApp(context);
  using sender = await openSender(app, await context.log(), signal);
  if (options.list) return list(context, sender, options);
  requirePerson(context);
  if (options.to === undefined)
    throw new AppError(
      "usage-wrong",
      "Say where to: `--to PLATFORM:CHAT`. `hermes send --list` shows the chats.",
    );
  const targets = sender.resolve(options.to);
  if (targets.length === 0) throw new AppError("usage-wrong", "`--to` names no chat.");
  const text = await readText(context, words);
  if (text.trim() === "" && options.file === undefined)
    throw new AppError("usage-wrong", "There is nothing to send: the message is empty.");
  const isRunning = await sender.isRunning(signal);
  if (!isRunning && !options.queue)
    throw new AppError("send-refused", "No gateway of this profile runs, so nothing was sent.", {
      hint: "Start it with `hermes gateway start`, or add `--queue` to leave the message for the next gateway.",
    });
  const messages: SentMessage[] = [];
  for (const target of targets)
    messages.push(await sender.send({ target, text, file: options.file, name: options.name }, signal));
  const until = systemClock.now() + options.timeout * 1_000;
  const isOpen = (): boolean =>
    messages.some(({ parts }) => parts().some(({ state }) => state !== "sent" && state !== "failed"));
  while (isRunning && isOpen() && systemClock.now() < until) await systemClock.sleep(POLL_MS, signal);
  report(context, messages, { isRunning, json: options.json ?? false });
}

function report(
  { terminal }: CommandContext,
  messages: readonly SentMessage[],
  { isRunning, json }: { readonly isRunning: boolean; readonly json: boolean },
): void {
  const results = messages.map(({ target, parts }) => {
    const states = parts();
    const failed = states.find(({ state }) => state === "failed");
    const waiting = states.find(({ state }) => state !== "failed" && state !== "sent");
    return {
      target,
      state: failed !== undefined ? "failed" : waiting !== undefined ? "waiting" : "sent",
      reason: (failed ?? waiting)?.reason ?? null,
      messageIds: states.flatMap(({ messageId }) => messageId ?? []),
    };
  });
  if (json) terminal.printJson(results);
  else
    for (const { target, state, reason } of results) {
      if (state === "sent") terminal.note(`Sent to ${escapeControls(target)}.`);
      else if (!isRunning) terminal.note(`Stored for ${escapeControls(target)}; the next gateway sends it.`);
      else if (results.length > 1)
        terminal.note(escapeControls(`Not sent to ${target}${reason === null ? "" : `: ${reason}`}.`));
    }
  const bad = results.filter(({ state }) => state === "failed" || (isRunning && state === "waiting"));
  const [first] = bad;
  if (first === undefined) return;
  const what =
    results.length === 1
      ? `Not sent to ${first.target}`
      : `${bad.length} of ${results.length} messages were not sent`;
  const reason = results.length === 1 && first.reason !== null ? `: ${first.reason.replace(/\.$/, "")}` : "";
  throw new AppError("send-failed", `${escapeControls(`${what}${reason}`)}.`, {
    hint:
      first.state === "waiting"
        ? "The gateway keeps trying; see `hermes gateway status`."
        : "Check the target with `hermes send --list`, and `hermes gateway status`.",
  });
}

async function readText({ terminal, signal }: CommandContext, words: readonly string[]): Promise<string> {
  const input = { maxBytes: MAX_INPUT_BYTES, terminal };
  if (words.length === 1 && words[0] === "-") return readStandardInput(input, signal);
  if (words.length > 0) return words.join(" ");
  return readPipedInput(input, signal);
}

function list({ terminal }: CommandContext, sender: Sender, { json = false }: JsonOption): void {
  const chats = sender.list();
  if (json) terminal.printJson(chats.map((chat) => ({ ...chat, to: formatTarget(chat.target) })));
  else if (chats.length === 0) terminal.note("Nobody has written to this gateway yet.");
  else
    terminal.print(
      renderTable(
        ["to", "name", "kind", "last used"],
        chats.map(({ target, name, type, usedAt }) => [
          escapeControls(formatTarget(target)),
          escapeControls(name),
          type,
          formatTime(usedAt),
        ]),
        terminal,
      ),
    );
}
