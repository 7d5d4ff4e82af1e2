import type { Database } from "../../lib/sqlite/database.ts";

export const UNTRUSTED_SQL = `select untrusted from session join turn on turn.session_key = session.key
    join message on message.turn_key = turn.key
    where session.id = ? and turn.undone_at is null and untrusted is not null order by message.key`;

/** Lists the sources of untrusted text in a session, including compacted messages but not undone turns. */
export function createUntrustedReader(database: Database): (id: string) => readonly string[] {
  const list = database.prepare<{ untrusted: string }>(UNTRUSTED_SQL);
  return (id) => [
    ...new Set(list.all(id).flatMap(({ untrusted }) => JSON.parse(untrusted) as readonly string[])),
  ];
}
