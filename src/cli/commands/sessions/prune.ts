import { AppError } from "../../../lib/errors.ts";
import { readOwnIdentity } from "../../../lib/process/process-identity.ts";
import { formatTime } from "../../../lib/time/format-time.ts";
import type { PrunableSession } from "../../../sessions/session-list.ts";
import type { SessionStore } from "../../../sessions/session-store.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { formatBytes } from "../../terminal/format-bytes.ts";
import { requireYes } from "../../terminal/require-yes.ts";
import { renderTable } from "../../terminal/table.ts";
import { findStore } from "./require-session.ts";

interface PruneOptions extends JsonOption {
  /** Milliseconds. */
  readonly olderThan: number;
  readonly source?: readonly string[];
  readonly archived?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const SHOWN = 20;

/** Deletes ended sessions that were not used for a long time. */
export async function pruneSessions(context: CommandContext, options: PruneOptions): Promise<void> {
  const { terminal, signal } = context;
  const { olderThan, source: sources = [], archived = false, dryRun = false, yes = false, json } = options;
  using store = await findStore(context);
  const before = Date.now() - olderThan;
  const old = store?.list.prunable({ before, sources, archived }) ?? [];
  const bytes = old.reduce((sum, session) => sum + session.bytes, 0);
  if (store === undefined || old.length === 0) {
    if (json) return terminal.printJson({ deleted: [], skipped: [], bytes: 0 });
    return terminal.print(`No session was last used before ${formatTime(before)}.`);
  }
  const what = `${old.length === 1 ? "1 session" : `${old.length} sessions`} with ${formatBytes(bytes)} of messages`;
  if (!json) printSessions(context, old);
  if (dryRun) {
    if (json) return terminal.printJson({ deleted: [], wouldDelete: old.map(({ id }) => id), bytes });
    return terminal.note(`Would delete ${what}. Nothing was changed.`);
  }
  if (!yes) await requireYes(context, `Delete ${what} permanently?`, `Deleting ${what}`);
  const { deleted, skipped } = await deleteAll(store, old, before, signal);
  const isSmaller = await store.releaseSpace(signal);
  if (json) return terminal.printJson({ deleted, skipped, bytes });
  const busy = skipped.length === 0 ? "" : ` ${skipped.length} are in use and were kept.`;
  const space = isSmaller ? "" : " The file keeps its size; new sessions use the free space.";
  terminal.note(`Deleted ${deleted.length} of ${what}.${busy}${space}`);
}

async function deleteAll(
  store: SessionStore,
  sessions: readonly PrunableSession[],
  before: number,
  signal: AbortSignal,
): Promise<{ deleted: string[]; skipped: string[] }> {
  const identity = await readOwnIdentity(signal);
  const deleted: string[] = [];
  const skipped: string[] = [];
  for (const { id } of sessions) {
    try {
      deleted.push(...(await store.deleteSession(id, identity, signal, before)).ids);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === "session-busy") skipped.push(id);
      else if (error.code !== "session-not-found") throw error; // deleted with its parent
    }
  }
  return { deleted, skipped };
}

function printSessions({ terminal }: CommandContext, sessions: readonly PrunableSession[]): void {
  const rows = sessions
    .slice(0, SHOWN)
    .map(({ id, activeAt, bytes, title }) => [
      id,
      formatTime(activeAt),
      formatBytes(bytes),
      escapeControls(title ?? ""),
    ]);
  terminal.print(renderTable(["ID", "LAST USED", "SIZE", "TITLE"], rows, terminal));
  if (sessions.length > SHOWN) terminal.print(`… and ${sessions.length - SHOWN} more`);
}
