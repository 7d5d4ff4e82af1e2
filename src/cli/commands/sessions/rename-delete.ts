import { AppError } from "../../../lib/errors.ts";
import { readOwnIdentity } from "../../../lib/process/process-identity.ts";
import { formatTime } from "../../../lib/time/format-time.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { requireYes } from "../../terminal/require-yes.ts";
import { openRedactor, requireSession, requireStore } from "./require-session.ts";

export async function renameSession(
  context: CommandContext,
  which: string,
  words: readonly string[],
  { auto = false, json }: JsonOption & { auto?: boolean },
): Promise<void> {
  const { terminal, signal } = context;
  if (auto === words.length > 0)
    throw new AppError("usage-wrong", auto ? "--auto takes no title." : "No title was given.", {
      hint: "Give a title, or --auto to let a model write one.",
    });
  using store = await requireStore(context);
  const { id } = requireSession(store, which);
  if (auto) {
    const { writeAppTitle } = await import("../../../app/write-app-title.ts");
    await writeAppTitle(await startApp(context), store, id, signal);
  } else await store.list.rename(id, words.join(" "), signal);
  const renamed = store.list.find(id);
  if (json) terminal.printJson(renamed);
  else terminal.note(`Renamed session ${id} to "${renamed?.title}".`);
}

export async function deleteSession(
  context: CommandContext,
  which: string,
  { yes, json }: JsonOption & { yes?: boolean },
): Promise<void> {
  const { terminal, signal } = context;
  using store = await requireStore(context);
  const { redact } = await openRedactor(context);
  const session = store.list.describe(requireSession(store, which), redact);
  const name = session.title === undefined ? session.id : `${session.id} ("${session.title}")`;
  const what = `session ${name} of ${formatTime(session.createdAt)} with ${session.messages} messages`;
  if (!yes) await requireYes(context, `Delete ${what} permanently?`, `Deleting ${what}`);
  const deleted = await store.deleteSession(session.id, await readOwnIdentity(signal), signal);
  if (json) return terminal.printJson({ deleted: true, ...deleted });
  const others = deleted.ids.length - 1;
  const more = others === 0 ? "" : `, and ${others} of its subagents`;
  terminal.note(`Deleted session ${name}${more}: ${deleted.messages} messages.`);
}
