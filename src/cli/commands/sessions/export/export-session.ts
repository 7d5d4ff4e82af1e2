import { writeFile } from "node:fs/promises";
import { AppError, errnoOf, messageOf } from "../../../../lib/errors.ts";
import { createRedactor } from "../../../../lib/redact/redactor.ts";
import type { CommandContext } from "../../../context.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { requireSession, requireStore } from "../require-session.ts";
import type { ExportedSession } from "./exported-session.ts";

export const EXPORT_FORMATS = ["jsonl", "markdown", "html"] as const;
type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportOptions {
  readonly format?: ExportFormat;
  readonly output?: string;
  readonly redact?: boolean;
  readonly only?: "prompts" | "answers";
}

export async function exportSession(
  context: CommandContext,
  which: string,
  { format = "jsonl", output, redact = false, only }: ExportOptions,
): Promise<void> {
  const { resolved } = await context.openApp();
  using store = await requireStore(context);
  const { session } = store.loadSession(requireSession(store, which).id);
  const active = store
    .history()
    .readTranscript(session.id)
    .filter(({ number }) => number !== undefined);
  const entries = only === undefined ? active : active.filter(({ message }) => message.role === ROLES[only]);
  const redactor = createRedactor({ secrets: resolved.secrets });
  const hide = (text: string): string => (redact ? redactor.redact(text) : text);
  const exported = {
    session,
    usage: store.usage.ofSession(session.id),
    entries,
    isWhole: only === undefined,
    show: (text: string) => escapeControls(hide(text)),
  };
  const text = await render(format, exported, redact ? hide : undefined);
  if (output === undefined) return context.terminal.print(text);
  try {
    await writeFile(output, `${text}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const why = errnoOf(error) === "EEXIST" ? "it already exists" : messageOf(error);
    throw new AppError("file-unwritable", `${output}: ${why}.`, { cause: error });
  }
  context.terminal.note(`Wrote ${entries.length} messages to ${output}.`);
}

const ROLES = { prompts: "user", answers: "assistant" } as const;

async function render(
  format: ExportFormat,
  exported: ExportedSession,
  redact: ((text: string) => string) | undefined,
): Promise<string> {
  if (format === "html") return (await import("./html.ts")).renderHtml(exported);
  if (format === "markdown") return (await import("./markdown.ts")).renderMarkdown(exported);
  const { redactJson } = await import("../../../../lib/redact/redact-json.ts");
  const { session, usage, entries } = exported;
  const records = [
    { type: "session", ...session, usage },
    ...entries.map(({ number, createdAt, message }) => ({ type: "message", number, createdAt, ...message })),
  ];
  return records
    .map((record) => JSON.stringify(redact === undefined ? record : redactJson(record, redact)))
    .join("\n");
}
