import type { ProcessIdentity } from "../lib/process/process-identity.ts";
import type { Database } from "../lib/sqlite/database.ts";
import type { Leases } from "../lib/sqlite/lease.ts";
import { runReadTransaction } from "../lib/sqlite/read-transaction.ts";
import { createSessionBrancher } from "./changes/branch-session.ts";
import { createSessionChanger } from "./changes/hold-session.ts";
import { createTurnUndo } from "./changes/undo-turns.ts";
import { createTranscriptReader, type TranscriptEntry } from "./transcript.ts";

/** Reads and changes the history of sessions in which no turn runs. */
export function createSessionHistory(database: Database, leases: Leases, createId: () => string) {
  const changeSession = createSessionChanger(database, leases);
  const readTranscript = createTranscriptReader(database);
  const findKey = database.prepare<{ key: number }>("select key from session where id = ?");
  return {
    ...createTurnUndo(database, changeSession),
    branch: createSessionBrancher(database, changeSession, readTranscript, createId),
    /** Hides a session from lists, or shows it again. */
    setArchived(
      id: string,
      isArchived: boolean,
      identity: ProcessIdentity,
      signal: AbortSignal,
    ): Promise<void> {
      const time = isArchived ? "hermes_now()" : "null";
      const update = database.prepare(`update session set archived_at = ${time} where key = ?`);
      return changeSession(id, identity, (key) => void update.run(key), signal);
    },
    /** All messages of a session as a person reads them, with those of undone turns; empty for an unknown session. */
    readTranscript: (id: string): readonly TranscriptEntry[] =>
      runReadTransaction(database, () => {
        const session = findKey.get(id);
        return session === undefined ? [] : readTranscript(session.key);
      }),
  };
}
