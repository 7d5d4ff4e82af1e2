import { readOwnIdentity } from "../../../lib/process/process-identity.ts";
import { LATEST } from "../../../sessions/changes/session-title.ts";
import { INTERNAL_SOURCES } from "../../../sessions/session.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { requireSession, requireStore } from "./require-session.ts";

const KEPT_EFFECTS = "Files and other effects of the commands that it ran stay as they are.";

export async function branchSession(
  context: CommandContext,
  which: string,
  { at, title, json }: JsonOption & { at?: number; title?: string },
): Promise<void> {
  const { terminal, signal } = context;
  using store = await requireStore(context);
  const parent = requireSession(store, which);
  const branch = await store
    .history()
    .branch(parent.id, { at, title }, await readOwnIdentity(signal), signal);
  if (json) return terminal.printJson({ ...store.list.find(branch.id), ...branch });
  terminal.print(branch.id);
  const { lastMessage, ofMessages } = branch;
  const moved = at !== undefined && at > lastMessage ? ` (message ${at} has no answer to keep)` : "";
  terminal.note(
    `It shares messages 1 to ${lastMessage} of ${ofMessages} with ${parent.id}${moved}. Continue it with: hermes -r ${branch.id} -z "TASK"`,
  );
}

export async function undoTurns(
  context: CommandContext,
  which: string,
  count: number,
  { json }: JsonOption,
): Promise<void> {
  const { terminal, signal } = context;
  using store = await requireStore(context);
  const { id } = requireSession(store, which);
  const { turns } = await store.history().undo(id, count, await readOwnIdentity(signal), signal);
  if (json) return terminal.printJson({ id, undone: turns.length });
  terminal.note(
    `Undid ${countTurns(turns)} of session ${id}. ${KEPT_EFFECTS} Restore with: hermes sessions redo ${id}`,
  );
}

export async function redoTurns(context: CommandContext, which: string, { json }: JsonOption): Promise<void> {
  const { terminal, signal } = context;
  using store = await requireStore(context);
  const { id } = requireSession(store, which);
  const { turns } = await store.history().redo(id, await readOwnIdentity(signal), signal);
  if (json) return terminal.printJson({ id, restored: turns.length });
  terminal.note(`Restored ${countTurns(turns)} of session ${id}.`);
}

export async function archiveSession(
  context: CommandContext,
  which: string,
  isArchived: boolean,
  { json }: JsonOption,
): Promise<void> {
  const { terminal, signal } = context;
  using store = await requireStore(context);
  // `unarchive latest` means the latest archived session.
  const [latest] =
    isArchived || which !== LATEST
      ? []
      : store.list.list({ without: INTERNAL_SOURCES, archived: true, limit: 1 });
  const { id, archivedAt } = latest ?? requireSession(store, which);
  await store.history().setArchived(id, isArchived, await readOwnIdentity(signal), signal);
  if (json) return terminal.printJson(store.list.find(id));
  if (isArchived)
    terminal.note(
      `Archived session ${id}. List archived sessions with: hermes sessions list --archived --all`,
    );
  else if (archivedAt === undefined) terminal.note(`Session ${id} was not archived.`);
  else terminal.note(`Session ${id} is in the lists again.`);
}

function countTurns(turns: readonly string[]): string {
  return turns.length === 1 ? "the last turn" : `the last ${turns.length} turns`;
}
