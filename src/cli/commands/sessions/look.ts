import { writeFile } from "node:fs/promises";
import { AppError, errnoOf, messageOf } from "../../../lib/errors.ts";
import { type Message, textOf } from "../../../providers/message.ts";
import { excerpt } from "../../../sessions/search/snippet.ts";
import { UNLISTED_SOURCES } from "../../../sessions/session.ts";
import type { CommandContext } from "../../context.ts";
import { escapeControls } from "../../escape-controls.ts";
import { renderTable } from "../../table.ts";
import { findStore, moment, requireSession, requireStore } from "./place.ts";

interface ListOptions {
  readonly limit: number;
  readonly source?: readonly string[];
  readonly all?: boolean;
  readonly in?: string;
  readonly json?: boolean;
}

const FIXED_COLUMNS = 58; // of the table, without the title
const TITLE_LENGTH = 60;
const RESULT_LENGTH = 300;

export async function listAll(context: CommandContext, options: ListOptions): Promise<void> {
  const { terminal } = context;
  using store = await findStore(context);
  const without = options.all || options.source !== undefined ? [] : UNLISTED_SOURCES;
  const found = store?.list.list({
    sources: options.source ?? [],
    without,
    cwd: options.in,
    limit: options.limit,
  });
  const rows = (found ?? []).map(
    (session) => store?.list.describe(session) ?? { ...session, messages: 0, opening: "" },
  );
  if (options.json) return terminal.printJson(rows);
  const hidden = without.length === 0 ? [] : (store?.list.list({ sources: without, limit: 1 }) ?? []);
  if (hidden.length > 0)
    terminal.note("Sessions of single runs (-z, -q) are not shown; add --all to see them.");
  if (rows.length === 0) return terminal.print("There are no sessions to show.");
  const width = Math.max(20, Math.min(TITLE_LENGTH, (terminal.columns ?? 999) - FIXED_COLUMNS));
  const cells = rows.map((row) => [
    row.id,
    moment(row.activeAt),
    row.source,
    String(row.messages),
    row.title ?? excerpt(escapeControls(row.opening), width),
  ]);
  terminal.print(renderTable(["ID", "LAST USED", "SOURCE", "MSGS", "TITLE"], cells, terminal));
}

export async function showOne(
  context: CommandContext,
  which: string,
  { limit, json }: { limit: number; json?: boolean },
): Promise<void> {
  const { terminal } = context;
  using store = await requireStore(context);
  const { session, messages, openTurn } = store.loadSession(requireSession(store, which).id);
  const usage = store.usage.ofSession(session.id);
  const spoken = messages.filter((message) => message.role !== "system");
  const shown = spoken.slice(-limit);
  if (json) return terminal.printJson({ ...session, usage, openTurn: openTurn ?? null, messages: shown });
  const price = usage.unpriced > 0 ? ` (price unknown for ${usage.unpriced})` : "";
  const lines: [string, string][] = [
    ["id", session.id],
    ["title", session.title ?? "none"],
    ["source", session.source],
    ["model", `${session.provider}/${session.model}`],
    ["folder", session.cwd],
    ["begun", moment(session.createdAt)],
    ["last used", moment(session.activeAt)],
    ["tokens", `${usage.inputTokens} in (${usage.cacheReadTokens} cached), ${usage.outputTokens} out`],
    ["cost", `$${usage.costUsd.toFixed(4)}, requests: ${usage.requests}${price}`],
  ];
  if (openTurn !== undefined) lines.push(["open turn", `since ${moment(openTurn.startedAt)}`]);
  for (const [label, value] of lines) terminal.print(`${label.padEnd(11)}${escapeControls(value)}`);
  if (shown.length < spoken.length)
    terminal.print(`\n(the last ${shown.length} of ${spoken.length} messages; --limit shows more)`);
  for (const message of shown) terminal.print(`\n${render(message, context)}`);
}

function render(message: Message, { terminal: { colours } }: CommandContext): string {
  if (message.role === "system") return "";
  if (message.role === "tool")
    return colours.dim(
      `${message.tool}${message.failed ? " (failed)" : ""}: ${excerpt(escapeControls(message.text), RESULT_LENGTH)}`,
    );
  const calls = message.parts.flatMap((part) =>
    part.type === "tool-call"
      ? [colours.dim(`→ ${part.tool} ${excerpt(escapeControls(part.input), RESULT_LENGTH)}`)]
      : [],
  );
  const text = escapeControls(textOf(message));
  return [colours.bold(`${message.role}:`), ...(text === "" ? [] : [text]), ...calls].join("\n");
}

export async function exportOne(
  context: CommandContext,
  which: string,
  { output }: { output?: string },
): Promise<void> {
  using store = await requireStore(context);
  const { session, messages } = store.loadSession(requireSession(store, which).id);
  const usage = store.usage.ofSession(session.id);
  const records = [
    { type: "session", ...session, usage },
    ...messages.filter(({ role }) => role !== "system").map((message) => ({ type: "message", ...message })),
  ];
  const lines = records.map((record) => JSON.stringify(record)).join("\n");
  if (output === undefined) return context.terminal.print(lines);
  try {
    await writeFile(output, `${lines}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const why = errnoOf(error) === "EEXIST" ? "it exists already" : messageOf(error);
    throw new AppError("file-unwritable", `${output}: ${why}.`, { cause: error });
  }
  context.terminal.note(`Wrote ${records.length - 1} messages to ${output}.`);
}
