import { AppError } from "../../../lib/errors.ts";
import { ownIdentity } from "../../../lib/process-identity.ts";
import type { CommandContext } from "../../context.ts";
import { moment, requireSession, requireStore } from "./place.ts";

interface JsonOption {
  readonly json?: boolean;
}

export async function renameOne(
  context: CommandContext,
  which: string,
  words: readonly string[],
  { json }: JsonOption,
): Promise<void> {
  const { terminal, signal } = context;
  using store = await requireStore(context);
  const { id } = requireSession(store, which);
  const title = await store.list.rename(id, words.join(" "), signal);
  if (json) terminal.printJson(store.list.find(id));
  else terminal.note(`Session ${id} is now called "${title}".`);
}

export async function deleteOne(
  context: CommandContext,
  which: string,
  { yes, json }: JsonOption & { yes?: boolean },
): Promise<void> {
  const { terminal, signal } = context;
  using store = await requireStore(context);
  const session = store.list.describe(requireSession(store, which));
  const name = session.title === undefined ? session.id : `${session.id} ("${session.title}")`;
  const what = `session ${name} of ${moment(session.createdAt)} with ${session.messages} messages`;
  if (!yes) {
    const answer = await terminal.ask(`Delete ${what} for good? [y/N] `, signal);
    if (answer === undefined) throw new AppError("confirmation-missing", `Deleting ${what} needs a yes.`);
    if (!/^y(es)?$/i.test(answer.trim()))
      throw new AppError("confirmation-missing", "Nothing was deleted.", { hint: "Answer y to delete it." });
  }
  const deleted = await store.deleteSession(session.id, await ownIdentity(signal), signal);
  if (json) return terminal.printJson({ deleted: true, ...deleted });
  const others = deleted.ids.length - 1;
  const more = others === 0 ? "" : `, and ${others} of its subagents`;
  terminal.note(`Deleted session ${name}${more}: ${deleted.messages} messages.`);
}
