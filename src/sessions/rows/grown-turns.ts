import type { Database } from "../../lib/sqlite/database.ts";

/** A turn that has a new message. */
export interface GrownTurn {
  readonly sessionId: string;
  readonly turnId: string;
}

const MAX_TURNS = 200;

/** Finds the turns that got messages after a given message. Keys of messages are never reused. */
export function createGrownTurnReader(database: Database) {
  const last = database.prepare<{ key: number | null }>("select max(key) as key from message");
  const grown = database.prepare<GrownTurn>(`
    select distinct session.id as sessionId, turn.id as turnId
      from message join turn on turn.key = message.turn_key join session on session.key = turn.session_key
     where message.key > ? limit ${MAX_TURNS}`);
  return {
    lastMessage: (): number => last.get()?.key ?? 0,
    turnsAfter: (key: number): readonly GrownTurn[] => grown.all(key),
  };
}
