import { homedir } from "node:os";
import type { SessionSummary } from "../../../sessions/session.ts";
import type { SessionStore } from "../../../sessions/session-store.ts";
import { cutText, textWidth } from "../../terminal/fit-text.ts";
import { quoteLine } from "../../terminal/quote-text.ts";
import { formatAge } from "../format-duration.ts";
import type { KeyBindings } from "../input/key-bindings.ts";
import { createPanel, type Panel, type PanelRow } from "./panel.ts";

export interface SessionPickerParts {
  readonly store: SessionStore;
  readonly folder: string;
  readonly now: number;
  readonly keys: KeyBindings;
  readonly query?: string | undefined;
  onOpen(id: string): void;
  onRename(id: string, title: string): void;
  onDelete(id: string): void;
  redact(text: string): string;
  /** Opens a question of the picker. */
  openPanel(panel: Panel): void;
  readonly signal: AbortSignal;
}

const MAX_FOUND = 50;
const TITLE_COLUMNS = 24;

/** All sessions of all folders and surfaces, those of this folder first; the filter also searches their messages. */
export function createSessionPicker(parts: SessionPickerParts): Panel {
  const { store, keys, onOpen } = parts;
  const label = (name: "search" | "leave", words: string): string =>
    keys.label(name) === undefined ? "" : ` · ${keys.label(name)} ${words}`;
  const byId = new Map<string, SessionSummary>();
  return createPanel<string>({
    title: "sessions",
    query: parts.query,
    rows: listSessionRows(parts, byId),
    footer: () =>
      `${keys.label("send") ?? "Enter"} opens${label("search", "renames")}${label("leave", "deletes, asks first")}`,
    onChoose: onOpen,
    onKey(name, id) {
      const session = byId.get(id) ?? store.list.find(id);
      if (session === undefined) return;
      if (name === "search") parts.openPanel(renamePrompt(session, parts));
      if (name === "leave") parts.openPanel(deleteQuestion(session, parts));
    },
    async search(text) {
      const found = await store.search(
        { text, limit: MAX_FOUND, order: "best", marks: NO_MARKS },
        parts.signal,
      );
      return found.map(({ session, hits }) => {
        byId.set(session.id, session);
        const snippet = hits[0] && parts.redact(hits[0].snippet);
        return toRow(session, parts, snippet);
      });
    },
  });
}

const NO_MARKS = { open: "", close: "" };

type RowParts = Pick<SessionPickerParts, "store" | "folder" | "now" | "redact">;

/** The rows of all sessions, those of the folder first. */
export function listSessionRows(
  parts: RowParts,
  byId = new Map<string, SessionSummary>(),
): PanelRow<string>[] {
  const { store, folder } = parts;
  const all = store.list.list({ limit: Number.MAX_SAFE_INTEGER });
  const here = all.filter(({ cwd }) => cwd === folder);
  const others = all.filter(({ cwd }) => cwd !== folder);
  return [...here, ...others].map((session) => {
    byId.set(session.id, session);
    return toRow(session, parts);
  });
}

function toRow(
  session: SessionSummary,
  { store, folder, now, redact }: RowParts,
  snippet?: string,
): PanelRow<string> {
  return {
    value: session.id,
    search: `${session.title ?? ""} ${session.cwd} ${session.id}`,
    text() {
      const { messages, opening } = store.list.describe(session, redact);
      const name = pad(quoteLine(session.title ?? opening), TITLE_COLUMNS);
      const age = formatAge(now - session.activeAt).padStart(8);
      const place = session.cwd === folder ? "here" : session.cwd.replace(homedir(), "~");
      const said = snippet ?? (session.title === undefined ? "" : opening);
      const quote = said === "" ? "" : `  "${quoteLine(said)}"`;
      const { costUsd } = store.usage.ofSession(session.id);
      return `${name} ${age}  ${`${messages}`.padStart(3)} messages  $${costUsd.toFixed(2)}  ${place}${quote}`;
    },
  };
}

function pad(text: string, columns: number): string {
  const cut = cutText(text, columns);
  return cut + " ".repeat(Math.max(0, columns - textWidth(cut)));
}

function renamePrompt({ id, title = "" }: SessionSummary, { onRename }: SessionPickerParts): Panel {
  return createPanel<never>({
    title: "new title",
    query: title,
    rows: [],
    footer: () => "Enter renames the session",
    onChoose: () => undefined,
    onText: (text) => onRename(id, text),
  });
}

function deleteQuestion(session: SessionSummary, { store, onDelete, redact }: SessionPickerParts): Panel {
  const { title, opening, messages } = store.list.describe(session, redact);
  const row = (value: boolean, text: string): PanelRow<boolean> => ({
    value,
    text: () => text,
    search: text,
  });
  return createPanel<boolean>({
    title: `delete "${quoteLine(title ?? opening)}" with ${messages} messages`,
    rows: [row(false, "no, keep it"), row(true, "yes, delete it permanently")],
    footer: () => "",
    onChoose(isWanted) {
      if (isWanted) onDelete(session.id);
    },
  });
}
