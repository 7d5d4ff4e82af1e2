import { openDatabase } from "../../src/lib/sqlite/database.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { sessionMigrations } from "../../src/sessions/session-migrations.ts";

const MESSAGES_PER_TURN = 5;
const TURNS_PER_SESSION = 20;
const VOCABULARY = 30_000;
const BATCH_TURNS = 4_000;
const DAY_MS = 86_400_000;
const JAPANESE = ["東京の天気を調べてください", "設定ファイルを更新しました", "全文検索の速度を測定する"];

/**
 * Fills a store with messages as fast as SQLite can: sessions of a hundred messages, words as frequent as in real
 * text (the word of rank n is `word<n>`), a Japanese sentence in some. The same `seed` gives the same store.
 */
export async function fillSessions(
  path: string,
  messages: number,
  signal: AbortSignal,
  { seed = 1, perSession = MESSAGES_PER_TURN * TURNS_PER_SESSION } = {},
): Promise<void> {
  using database = await openDatabase(
    path,
    { migrations: sessionMigrations, synchronous: "NORMAL", clock: systemClock },
    signal,
  );
  const random = createRandom(seed);
  const insertSession = database.prepare<{ key: number }>(`
    insert into session (id, source, cwd, provider, model, created_at, active_at, system_prompt, tools_json)
    values (?, ?, '/work', 'scripted', 'm', :at, :at, '"You help."', '[]') returning key`);
  const insertTurn = database.prepare<{ key: number }>(`
    insert into turn (session_key, id, started_at, ended_at, outcome)
    values (:session, :id, :at, :at, 'completed') returning key`);
  const insertMessage = database.prepare<{ key: number }>(`
    insert into message (turn_key, position, role, created_at, body) values (?, ?, ?, ?, ?) returning key`);
  const insertCall = database.prepare(`
    insert into tool_call (session_key, message_key, position, call_id, tool, state, outcome, result_key)
    values (?, ?, 0, ?, 'terminal', 'ended', 'ok', ?)`);
  const turnsPerSession = perSession / MESSAGES_PER_TURN;
  const turns = Math.ceil(messages / MESSAGES_PER_TURN);
  const startedAt = Date.now() - 365 * DAY_MS;
  let session = 0;

  function addTurn(turn: number): void {
    const at = startedAt + Math.floor((turn / turns) * 364 * DAY_MS);
    if (turn % turnsPerSession === 0) {
      const number = turn / turnsPerSession;
      const source = ["cli", "oneshot", "telegram", "kanban"][number % 4] ?? "cli";
      session = keyOf(
        insertSession.get(`20250101_000000_${number.toString(16).padStart(6, "0")}`, source, { at }),
      );
    }
    const turnKey = keyOf(insertTurn.get({ session, id: `t${turn}`, at }));
    const add = (position: number, role: string, body: unknown): number =>
      keyOf(insertMessage.get(turnKey, position, role, at, JSON.stringify(body)));
    const text = (length: number) => ({ type: "text", text: sentence(random, length) });
    const call = (id: string) => ({
      type: "tool-call",
      callId: id,
      tool: "terminal",
      input: '{"command":"ls -la"}',
    });
    add(0, "user", [text(25)]);
    const asks = [add(1, "assistant", [text(15), call(`${turn}a`)])];
    const results = [add(2, "tool", sentence(random, 80))];
    asks.push(add(3, "assistant", [text(40), call(`${turn}b`)]));
    results.push(add(4, "tool", sentence(random, 80)));
    for (const [index, key] of asks.entries())
      insertCall.run(session, key, `${turn}${"ab"[index]}`, results[index] ?? 0);
  }

  for (let turn = 0; turn < turns; turn += BATCH_TURNS) {
    const until = Math.min(turn + BATCH_TURNS, turns);
    await database.write(() => {
      for (let next = turn; next < until; next++) addTurn(next);
    }, signal);
  }
}

function sentence(random: () => number, length: number): string {
  const words: string[] = [];
  for (let index = 0; index < length; index++) {
    words.push(`word${Math.floor(VOCABULARY ** random()) /* Zipf: the probability falls with the rank */}`);
  }
  if (random() < 0.02) words.push(JAPANESE[Math.floor(random() * JAPANESE.length)] ?? "");
  return words.join(" ");
}

function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function keyOf(row: { readonly key: number } | undefined): number {
  if (row === undefined) throw new Error("insert returned no row");
  return row.key;
}
