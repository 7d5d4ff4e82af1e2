import { type GatewayRecords, openGatewayRecords } from "../../../app/server/gateway-status.ts";
import type { InboxEntry } from "../../../gateway/inbox/inbox.ts";
import type { OutboxEntry } from "../../../gateway/outbox/outbox.ts";
import { AppError } from "../../../lib/errors.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import { formatTime } from "../../../lib/time/format-time.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { printFields, renderTable } from "../../terminal/table.ts";

const SHOWN_CHARS = 60;

/** Lists the newest messages, or shows one with its turn and its answers. */
export async function showMessages(
  context: CommandContext,
  key: number | undefined,
  { lines, json = false }: JsonOption & { readonly lines: number },
): Promise<void> {
  const { terminal, signal } = context;
  const app = await startApp(context);
  using records = await openGatewayRecords(app, signal);
  if (key !== undefined) return showTrail(context, records, key, json);
  const entries = records.inbox.latest(lines).toReversed();
  if (json) return terminal.printJson(entries.map((entry) => toJson(records, entry)));
  if (entries.length === 0) return terminal.note("No message has arrived yet.");
  terminal.print(
    renderTable(
      ["number", "received", "platform", "from", "state", "text"],
      entries.map((entry) => [
        String(entry.key),
        formatTime(entry.receivedAt),
        entry.platform,
        escapeControls(entry.message.sender.id),
        entry.state,
        escapeControls(shorten(entry.message.text.replace(/\s+/g, " "), SHOWN_CHARS)),
      ]),
      terminal,
    ),
  );
}

function showTrail({ terminal }: CommandContext, records: GatewayRecords, key: number, json: boolean): void {
  const entry = records.inbox.find(key);
  if (entry === undefined) throw new AppError("message-unknown", `There is no message ${key}.`);
  if (json) {
    terminal.printJson(toJson(records, entry));
    return;
  }
  const { message } = entry;
  const turn = entry.turnId === undefined ? undefined : records.chats.findTurn(entry.turnId);
  printFields(terminal, [
    ["message", `${entry.key} on ${entry.platform} (${escapeControls(message.id)})`],
    ["from", escapeControls(`${message.sender.id}${message.sender.isProven ? "" : ", not proven"}`)],
    ["chat", escapeControls(`${message.chat.type} ${message.chat.chatId}`)],
    ["text", escapeControls(shorten(message.text, 500))],
    ["received", formatTime(entry.receivedAt)],
    ["state", [entry.state, entry.reason].filter(Boolean).join(": ")],
    [
      "turn",
      turn === undefined
        ? ""
        : `${turn.id}, ${turn.outcome ?? turn.state}${turn.resumes === undefined ? "" : ", after an interruption"}`,
    ],
    ["session", turn?.sessionId ?? ""],
  ]);
  for (const part of partsOf(records, entry)) terminal.print(`  ${describePart(part)}`);
}

/** The parts that were sent because of a message: direct answers, and those of its turn. */
function partsOf({ outbox }: GatewayRecords, { key, turnId }: InboxEntry): readonly OutboxEntry[] {
  const ofTurn = turnId === undefined ? [] : outbox.ofSource(`turn:${turnId}`);
  const all = new Map([...outbox.ofInbox(key), ...ofTurn].map((part) => [part.key, part]));
  return [...all.values()];
}

function describePart({ part, state, messageId, attempts, isMarked, reason, endedAt }: OutboxEntry): string {
  const { content } = part;
  const what =
    content.type === "text"
      ? shorten(content.text.replace(/\s+/g, " "), SHOWN_CHARS)
      : `file ${content.name}`;
  const facts = [
    state,
    endedAt === undefined ? "" : formatTime(endedAt),
    messageId === undefined ? "" : `as ${messageId}`,
    attempts > 1 ? `${attempts} attempts` : "",
    isMarked ? "marked as a possible repetition" : "",
    state === "sent" ? "" : (reason ?? ""),
  ].filter((fact) => fact !== "");
  return escapeControls(`→ ${what} [${facts.join(", ")}]`);
}

function toJson(records: GatewayRecords, entry: InboxEntry) {
  const turn = entry.turnId === undefined ? undefined : records.chats.findTurn(entry.turnId);
  return { ...entry, turn: turn ?? null, parts: partsOf(records, entry) };
}
