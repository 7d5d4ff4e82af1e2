import { writeFile } from "node:fs/promises";
import { extname } from "node:path";
import { AppError, errnoOf, messageOf } from "../../../../lib/errors.ts";
import { redactJson } from "../../../../lib/redact/redact-json.ts";
import type { CommandContext } from "../../../context.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { hideInJson, openRedactor, requireSession, requireStore } from "../require-session.ts";
import type { ExportedSession } from "./exported-session.ts";

export const EXPORT_FORMATS = ["jsonl", "markdown", "md", "html"] as const;
type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The default format of a file, by the ending of its name. */
const FORMAT_OF_NAME: Readonly<Record<string, ExportFormat>> = {
  ".html": "html",
  ".htm": "html",
  ".md": "markdown",
  ".markdown": "markdown",
};

export interface ExportOptions {
  readonly format?: ExportFormat;
  readonly output?: string;
  readonly redact?: boolean;
  readonly only?: "prompts" | "answers";
}

export async function exportSession(
  context: CommandContext,
  which: string,
  { format: wanted, output, redact = false, only }: ExportOptions,
): Promise<void> {
  const format = wanted ?? FORMAT_OF_NAME[extname(output ?? "").toLowerCase()] ?? "jsonl";
  using store = await requireStore(context);
  const { session } = store.loadSession(requireSession(store, which).id);
  const active = store
    .history()
    .readTranscript(session.id)
    .filter(({ number }) => number !== undefined);
  const entries = only === undefined ? active : active.filter(({ message }) => message.role === ROLES[only]);
  const redactor = await openRedactor(context);
  const hide = redact ? redactor.redact : redactor.redactKnown;
  const exported = {
    session,
    usage: store.usage.ofSession(session.id),
    entries,
    isWhole: only === undefined,
    sanitise: (text: string) => escapeControls(hide(text)),
  };
  const toJson = (value: object): string =>
    redact ? JSON.stringify(redactJson(value, redactor.redact)) : JSON.stringify(hideInJson(value, redactor));
  const text = await render(format, exported, toJson);
  if (output === undefined) return context.terminal.print(text);
  try {
    await writeFile(output, `${text}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const [why, hint] = UNWRITABLE[errnoOf(error) ?? ""] ?? [messageOf(error)];
    const options = hint === undefined ? { cause: error } : { cause: error, hint };
    throw new AppError("file-unwritable", `${output}: ${why}.`, options);
  }
  context.terminal.note(`Wrote ${entries.length} messages to ${output}.`);
}

const UNWRITABLE: Readonly<Record<string, readonly [why: string, hint?: string]>> = {
  EEXIST: ["it already exists", "Remove it, or give the name of a new file."],
  ENOENT: ["its folder does not exist", "Create the folder first, or name another one."],
  ENOTDIR: ["its folder is a file", "Name a file in a folder that exists."],
};

const ROLES = { prompts: "user", answers: "assistant" } as const;

async function render(
  format: ExportFormat,
  exported: ExportedSession,
  toJson: (record: object) => string,
): Promise<string> {
  if (format === "html") return (await import("./html.ts")).renderHtml(exported);
  if (format === "markdown" || format === "md")
    return (await import("./markdown.ts")).renderMarkdown(exported);
  const { session, usage, entries } = exported;
  const records = [
    { type: "session", ...session, usage },
    ...entries.map(({ number, createdAt, message }) => ({ type: "message", number, createdAt, ...message })),
  ];
  return records.map(toJson).join("\n");
}
