import { AppError } from "../../lib/errors.ts";
import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import { toolCallsOf } from "../../providers/message.ts";
import type { KeyedEntry, ReadTranscript } from "../transcript.ts";
import type { ChangeSession } from "./hold-session.ts";
import { createTitleNumberer, parseTitle } from "./session-title.ts";

export interface BranchRequest {
  /** Number of the last message to keep; undefined keeps all. */
  readonly at?: number | undefined;
  /** Undefined means the title of the session, with a number. */
  readonly title?: string | undefined;
}

export interface Branch {
  readonly id: string;
  /** Number of the last message that the branch shares with its parent. */
  readonly lastMessage: number;
  /** Number of messages of the parent. */
  readonly ofMessages: number;
}

const CUT_ANSWER = "[No answer: the session was branched here.]";

/**
 * Creates sessions that start with the messages of another session. Their rows are copied, so that either session can be
 * deleted. Requests are not copied, because they were paid for only once.
 */
export function createSessionBrancher(
  database: Database,
  changeSession: ChangeSession,
  readTranscript: ReadTranscript,
  createId: () => string,
) {
  const findTitle = database.prepare<{ title: string | null }>("select title from session where key = ?");
  const copySession = database.prepare<{ key: number }>(`
    insert into session (id, source, title, parent_key, parent_link, cwd, provider, model, created_at, active_at,
                         system_prompt, tools_json, shell, base_url, keeps_address, api_mode)
    select :id, source, :title, key, 'branch', cwd, provider, model, hermes_now(), hermes_now(),
           system_prompt, tools_json, shell, base_url, keeps_address, api_mode
      from session where key = :parent returning key`);
  const copyTurn = database.prepare<{ key: number }>(`
    insert into turn (session_key, id, started_at, ended_at, outcome, reason, hint, origin_key)
    select :session, id, started_at, coalesce(ended_at, hermes_now()), coalesce(outcome, 'stopped'), reason, hint, key
      from turn where key = :turn returning key`);
  const cutTurn = database.prepare(
    "update turn set outcome = 'stopped', reason = 'The session was branched here.', hint = null where key = ?",
  );
  const copyMessage = database.prepare<{ key: number }>(`
    insert into message (turn_key, position, role, kind, created_at, body, untrusted)
    select :turn, position, role, kind, created_at, body, untrusted from message where key = :message returning key`);
  const listResults = database.prepare<{ key: number; result_key: number }>(
    "select key, result_key from tool_call where message_key = ? and result_key is not null",
  );
  const copyCall = database.prepare(`
    insert into tool_call (session_key, message_key, position, call_id, tool, state, outcome, result_key, duration_ms, display)
    select :session, :message, position, call_id, tool, state, outcome, :result, duration_ms, display
      from tool_call where key = :call`);
  const addAnswer = database.prepare(`
    insert into message (turn_key, position, role, created_at, body)
    values (:turn, (select max(position) + 1 from message where turn_key = :turn), 'assistant', hermes_now(), :body)`);
  const freeTitle = createTitleNumberer(database);

  function chooseTitle(session: number, wanted: string | undefined): string | null {
    const title = wanted === undefined ? findTitle.get(session)?.title : parseTitle(wanted);
    return title === undefined || title === null ? null : freeTitle(title);
  }

  function copyEntries(session: number, entries: readonly KeyedEntry[]): void {
    const turns = new Map<number, number>();
    const messages = new Map<number, number>();
    for (const { key, turnKey } of entries) {
      const turn = turns.get(turnKey) ?? keyOf(copyTurn.get({ session, turn: turnKey }));
      turns.set(turnKey, turn);
      messages.set(key, keyOf(copyMessage.get({ turn, message: key })));
    }
    for (const [original, message] of messages)
      for (const { key: call, result_key } of listResults.all(original)) {
        const result = messages.get(result_key); // undefined for the calls of an unreadable answer
        if (result !== undefined) copyCall.run({ session, message, call, result });
      }
    const last = entries.at(-1);
    const lastTurn = last && turns.get(last.turnKey);
    if (last?.message.role !== "tool" || lastTurn === undefined) return;
    // A conversation never has two user messages in a row, and the next message is the user's.
    addAnswer.run({ turn: lastTurn, body: JSON.stringify([{ type: "text", text: CUT_ANSWER }]) });
    cutTurn.run(lastTurn);
  }

  return (
    parent: string,
    { at, title }: BranchRequest,
    identity: ProcessIdentity,
    signal: AbortSignal,
  ): Promise<Branch> =>
    changeSession(
      parent,
      identity,
      (session) => {
        const entries = readTranscript(session).filter(({ number }) => number !== undefined);
        const kept = entries.slice(0, findCut(parent, entries, at));
        const id = createId();
        copyEntries(
          keyOf(copySession.get({ id, parent: session, title: chooseTitle(session, title) })),
          kept,
        );
        return { id, lastMessage: kept.length, ofMessages: entries.length };
      },
      signal,
    );
}

/**
 * How many messages a branch keeps so that the user can continue it: an answer with calls keeps all their results, and a user
 * message without an answer is dropped, so that another message can take its place.
 */
function findCut(id: string, entries: readonly KeyedEntry[], at = entries.length): number {
  if (at > entries.length)
    throw new AppError("message-not-found", `Session ${id} has ${entries.length} messages, no number ${at}.`);
  let cut = at;
  while (entries[cut]?.message.role === "tool") cut++;
  while (cut > 0 && !isComplete(entries, cut)) cut--;
  if (cut > 0) return cut;
  throw new AppError("message-not-found", `Session ${id} has no answer up to message ${at}.`, {
    hint: 'Name an answer; to start with nothing, use `hermes -z "TASK"`.',
  });
}

/** Whether the first `count` messages end with an answer, or with all results of its calls. */
function isComplete(entries: readonly KeyedEntry[], count: number): boolean {
  let answer = count - 1;
  while (entries[answer]?.message.role === "tool") answer--;
  const message = entries[answer]?.message;
  return message?.role === "assistant" && toolCallsOf(message).length === count - 1 - answer;
}

function keyOf(row: { readonly key: number } | undefined): number {
  if (row === undefined) throw new Error("insert returned no row");
  return row.key;
}
