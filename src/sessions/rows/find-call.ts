import type { Database } from "../../lib/sqlite/database.ts";

const SESSION_KEY = "(select key from session where id = ?)";

/** Finds the last successful result of a tool in a session. */
export function createResultFinder(database: Database): (id: string, tool: string) => string | undefined {
  const find = database.prepare<{ body: string }>(`
    select body from tool_call join message on message.key = tool_call.result_key
     where session_key = ${SESSION_KEY} and tool = ? and outcome = 'ok' order by tool_call.key desc limit 1`);
  return (id, tool) => {
    const row = find.get(id, tool);
    return row === undefined ? undefined : (JSON.parse(row.body) as string);
  };
}

/** Checks whether a session already has a call with this id, even in messages that the model no longer gets. */
export function createCallFinder(database: Database): (id: string, callId: string) => boolean {
  const find = database.prepare(`select 1 from tool_call where session_key = ${SESSION_KEY} and call_id = ?`);
  return (id, callId) => find.get(id, callId) !== undefined;
}
