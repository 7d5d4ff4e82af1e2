import { AppError } from "../../lib/errors.ts";
import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import type { ChangeSession } from "./hold-session.ts";

/** How many turns were undone or restored, and their ids, oldest first. */
export interface ChangedTurns {
  readonly turns: readonly string[];
}

interface TurnRow {
  readonly key: number;
  readonly id: string;
}

const OUTCOME_LOST = "Undone before its result was stored, so its outcome is unknown.";

/**
 * Undoes turns and restores them. An undone turn keeps its messages and its cost and stays searchable, but the model no
 * longer sees it.
 */
export function createTurnUndo(database: Database, changeSession: ChangeSession) {
  const listLast = database.prepare<TurnRow>(
    "select key, id from turn where session_key = ? and undone_at is null order by key desc limit ?",
  );
  const listLastUndone = database.prepare<TurnRow>(`
    select key, id from turn
     where session_key = :session
       and key > (select coalesce(max(key), 0) from turn where session_key = :session and undone_at is null)
       and undone_at = (select max(undone_at) from turn where session_key = :session)
     order by key`);
  const listPending = database.prepare<{ key: number }>(`
    select tool_call.key from tool_call join message on message.key = tool_call.message_key
     where message.turn_key = ? and state <> 'ended' order by tool_call.key`);
  const insertResult = database.prepare<{ key: number }>(`
    insert into message (turn_key, position, role, created_at, body)
    values (:turn, (select max(position) + 1 from message where turn_key = :turn), 'tool', hermes_now(), :body)
    returning key`);
  const endCall = database.prepare(
    "update tool_call set state = 'ended', outcome = 'unknown', result_key = :result where key = :key",
  );
  const undoTurn = database.prepare(`
    update turn set undone_at = :time, ended_at = coalesce(ended_at, hermes_now()),
           outcome = coalesce(outcome, 'stopped'), reason = coalesce(reason, 'The turn was undone.')
     where key = :key`);
  // All turns of one undo get the same time, later than that of any earlier undo, even if the clock was set back.
  const findTime = database.prepare<{ time: number }>(
    "select max(hermes_now(), coalesce(max(undone_at) + 1, 0)) as time from turn where session_key = ?",
  );
  const redoTurn = database.prepare("update turn set undone_at = null where key = ?");
  // A model that counts its calls from 0 may reuse the id of an undone call, but ids must be unique in a session.
  const freeCallIds = database.prepare(`
    update tool_call set call_id = call_id || ' (undone ' || key || ')'
     where message_key in (select key from message where turn_key = ?)`);
  const restoreCallIds = database.prepare(`
    update tool_call set call_id = substr(call_id, 1, length(call_id) - length(' (undone ' || key || ')'))
     where message_key in (select key from message where turn_key = ?)`);

  /** Gives the calls of a crashed turn a result, because every ended turn has complete calls. */
  function endPendingCalls(turn: number): void {
    for (const { key } of listPending.all(turn)) {
      const result = insertResult.get({ turn, body: JSON.stringify(OUTCOME_LOST) });
      if (result === undefined) throw new Error("insert returned no row");
      endCall.run({ key, result: result.key });
    }
  }

  return {
    /** Undoes the last `count` turns. */
    undo: (
      id: string,
      count: number,
      identity: ProcessIdentity,
      signal: AbortSignal,
    ): Promise<ChangedTurns> =>
      changeSession(
        id,
        identity,
        (session) => {
          const turns = listLast.all(session, count).reverse();
          if (turns.length < count)
            throw new AppError("turn-not-found", `Session ${id} has ${describeCount(turns.length)} to undo.`);
          const time = findTime.get(session)?.time ?? 0;
          for (const { key } of turns) {
            endPendingCalls(key);
            undoTurn.run({ key, time });
            freeCallIds.run(key);
          }
          return { turns: turns.map((turn) => turn.id) };
        },
        signal,
      ),
    /** Restores the turns of the last undo, unless a newer turn has followed it. */
    redo: (id: string, identity: ProcessIdentity, signal: AbortSignal): Promise<ChangedTurns> =>
      changeSession(
        id,
        identity,
        (session) => {
          const turns = listLastUndone.all({ session });
          if (turns.length === 0)
            throw new AppError("turn-not-found", `Session ${id} has no undone turn at its end.`);
          for (const { key } of turns) {
            redoTurn.run(key);
            restoreCallIds.run(key);
          }
          return { turns: turns.map((turn) => turn.id) };
        },
        signal,
      ),
  };
}

function describeCount(turns: number): string {
  if (turns === 0) return "no turn";
  return turns === 1 ? "only one turn" : `only ${turns} turns`;
}
