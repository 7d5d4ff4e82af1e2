import { AppError } from "../../../lib/errors.ts";
import { formatTime } from "../../../lib/time/format-time.ts";
import type { SearchContext, SearchRole } from "../../../sessions/search/search-sessions.ts";
import type { CommandContext } from "../../context.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { cutText } from "../../terminal/fit-text.ts";
import { findStore } from "./require-session.ts";

interface SearchOptions {
  readonly limit: number;
  readonly source?: readonly string[];
  readonly role?: readonly SearchRole[];
  readonly since?: number;
  readonly newest?: boolean;
  readonly rebuild?: boolean;
  readonly json?: boolean;
}

// From a private use area of Unicode, so that no text contains them by accident.
const MARKS = { open: "\u{f0000}", close: "\u{f0001}" };

export async function searchSessions(
  context: CommandContext,
  words: readonly string[],
  { limit, source, role, since, newest, rebuild, json }: SearchOptions,
): Promise<void> {
  const { terminal, signal } = context;
  const text = words.join(" ");
  if (text.trim() === "" && !rebuild) throw new AppError("usage-wrong", "No search words were given.");
  using store = await findStore(context);
  if (rebuild) await store?.rebuildSearch(signal);
  const order = newest ? "newest" : "best";
  const query = { text, limit, order, roles: role, sources: source, since } as const;
  const found = (await store?.search(json ? query : { ...query, marks: MARKS }, signal)) ?? [];
  if (json) return terminal.printJson(found);
  if (text.trim() === "") return terminal.note("The search index was rebuilt.");
  if (found.length === 0) return terminal.print("No matches.");
  for (const { session, hits } of found) {
    terminal.print(
      `${terminal.colours.bold(session.id)}  ${session.source}  ${session.title ?? ""}`.trimEnd(),
    );
    for (const hit of hits) {
      printContext(context, hit.before);
      const snippet = escapeControls(hit.snippet).replaceAll(MARKS.open, "[").replaceAll(MARKS.close, "]");
      const role = hit.isUndone ? `${hit.role} (undone)` : hit.role;
      terminal.print(`  ${formatTime(hit.createdAt)}  ${role}: ${snippet}`);
      printContext(context, hit.after);
    }
  }
}

function printContext({ terminal }: CommandContext, context: SearchContext | undefined): void {
  if (context === undefined || context.text === "") return;
  const text = cutText(escapeControls(context.text), Math.max(40, (terminal.columns ?? 999) - 16));
  terminal.print(terminal.colours.dim(`      ${context.role}: ${text}`));
}
