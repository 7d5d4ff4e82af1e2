import { resolve } from "node:path";
import { formatTime } from "../../../lib/time/format-time.ts";
import { textOf } from "../../../providers/message.ts";
import { formatRoute } from "../../../providers/provider.ts";
import type { AnsweringModel, StoredSwitch } from "../../../sessions/rows/session-routes.ts";
import { excerptOf } from "../../../sessions/search/snippet.ts";
import { UNLISTED_SOURCES } from "../../../sessions/session.ts";
import type { TranscriptEntry } from "../../../sessions/transcript.ts";
import type { CommandContext } from "../../context.ts";
import { currentFolder } from "../../terminal/current-folder.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { printFields, renderTable } from "../../terminal/table.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { findStore, hideInJson, openRedactor, requireSession, requireStore } from "./require-session.ts";

interface ListOptions {
  readonly limit: number;
  readonly source?: readonly string[];
  readonly all?: boolean;
  readonly archived?: boolean;
  readonly in?: string;
  readonly json?: boolean;
}

const FIXED_COLUMNS = 58; // the width of the table without the titles
const TITLE_LENGTH = 60;
const RESULT_LENGTH = 300;

export async function listSessions(context: CommandContext, options: ListOptions): Promise<void> {
  const { terminal } = context;
  using store = await findStore(context);
  const without = options.all || options.source !== undefined ? [] : UNLISTED_SOURCES;
  const { source: sources = [], limit, archived = false } = options;
  const cwd = options.in === undefined ? undefined : resolve(currentFolder(), options.in);
  const { redact } = await openRedactor(context);
  const found = store?.list
    .list({ sources, without, cwd, archived, limit })
    .map((one) => store.list.describe(one, redact));
  const rows = found ?? [];
  if (options.json) return terminal.printJson(rows);
  const hidden =
    without.length === 0 ? 0 : (store?.list.countMatching({ sources: without, cwd, archived }) ?? 0);
  if (hidden > 0)
    terminal.note(
      `${hidden} ${hidden === 1 ? "session" : "sessions"} of single runs (-z, -q) and workers hidden; use --all to show them.`,
    );
  if (rows.length === 0) {
    const isNew = (store?.list.countMatching({}) ?? 0) === 0;
    return terminal.print(isNew ? "No sessions yet. Start one with `hermes`." : "No sessions match.");
  }
  const width = Math.max(20, Math.min(TITLE_LENGTH, (terminal.columns ?? 999) - FIXED_COLUMNS));
  const cells = rows.map((row) => [
    row.id,
    formatTime(row.activeAt),
    row.source,
    String(row.messages),
    terminal.columns !== undefined || row.title === undefined
      ? excerptOf(escapeControls(row.title ?? row.opening), width)
      : row.title,
  ]);
  terminal.print(renderTable(["ID", "LAST USED", "SOURCE", "MSGS", "TITLE"], cells, terminal));
}

export async function showSession(
  context: CommandContext,
  which: string,
  { limit, undone = false, json }: { limit: number; undone?: boolean; json?: boolean },
): Promise<void> {
  const { terminal } = context;
  using store = await requireStore(context);
  const redactor = await openRedactor(context);
  const clean = (text: string): string => escapeControls(redactor.redactKnown(text));
  const { session, openTurn, damagedMessages } = store.loadSession(requireSession(store, which).id);
  const usage = store.usage.ofSession(session.id);
  const switches = store.routes.switches(session.id);
  const models = store.routes.models(session.id);
  const entries = store.history().readTranscript(session.id);
  const visible = entries.filter(({ number }) => undone || number !== undefined);
  const shown = visible.slice(-limit);
  if (json) {
    const messages = shown.map(({ number, createdAt, isCompacted, message }) => ({
      number: number ?? null,
      createdAt,
      ...(isCompacted && { compacted: true }),
      ...message,
    }));
    const facts = { ...session, usage, models, switches, openTurn: openTurn ?? null, messages };
    return terminal.printJson(hideInJson(facts, redactor));
  }
  const hidden = entries.length - visible.length;
  const compacted = visible.filter(({ isCompacted }) => isCompacted).length;
  const price = usage.unpriced > 0 ? ` (price unknown for ${usage.unpriced})` : "";
  printFields(terminal, [
    ["id", session.id],
    ["title", clean(session.title ?? "none")],
    ["source", session.source],
    ["model", `${session.provider}/${session.model}`],
    ["answers", models.length < 2 ? "" : models.map(formatAnswers).join(", ")],
    ...switches.map((one) => ["switched", clean(formatStoredSwitch(one))] as const),
    ["folder", clean(session.cwd)],
    ["created", formatTime(session.createdAt)],
    ["last used", formatTime(session.activeAt)],
    ["archived", session.archivedAt === undefined ? "" : formatTime(session.archivedAt)],
    ["branch of", session.parentLink === "branch" ? (session.parent ?? "a deleted session") : ""],
    ["tokens", `${usage.inputTokens} in (${usage.cacheReadTokens} cached), ${usage.outputTokens} out`],
    ["cost", `$${usage.costUsd.toFixed(4)}, requests: ${usage.requests}${price}`],
    ["compacted", compacted === 0 ? "" : `the first ${compacted} of ${visible.length} messages`],
    ["open turn", openTurn === undefined ? "" : `since ${formatTime(openTurn.startedAt)}`],
    ["damaged", damagedMessages === 0 ? "" : `${damagedMessages} messages cannot be read`],
    ["undone", hidden === 0 ? "" : `${hidden} messages; use --undone to show them`],
  ]);
  if (shown.length < visible.length)
    terminal.print(`\n(the last ${shown.length} of ${visible.length} messages; use --limit to show more)`);
  for (const [index, entry] of shown.entries()) {
    if (shown[index - 1]?.isCompacted && !entry.isCompacted) terminal.print(terminal.colours.dim(COMPACTED));
    terminal.print(`\n${render(entry, terminal, clean)}`);
  }
}

const COMPACTED = "\n(For the model, a summary replaces the messages above.)";

function formatAnswers({ provider, model, answers }: AnsweringModel): string {
  return `${answers} by ${provider}/${model}`;
}

function formatStoredSwitch({ switchedAt, from, to, reason }: StoredSwitch): string {
  return `${formatTime(switchedAt)} ${formatRoute(from)} → ${formatRoute(to)}: ${reason}`;
}

function render(
  { number, message }: TranscriptEntry,
  { colours }: Terminal,
  clean: (text: string) => string,
): string {
  const label = number === undefined ? "undone" : `#${number}`;
  if (message.role === "tool")
    return colours.dim(
      `${label} ${message.tool}${message.failed ? " (failed)" : ""}: ${excerptOf(clean(message.text), RESULT_LENGTH)}`,
    );
  const calls = message.parts.flatMap((part) =>
    part.type === "tool-call"
      ? [colours.dim(`→ ${part.tool} ${excerptOf(clean(part.input), RESULT_LENGTH)}`)]
      : [],
  );
  const text = clean(textOf(message));
  return [colours.bold(`${label} ${message.role}:`), ...(text === "" ? [] : [text]), ...calls].join("\n");
}
