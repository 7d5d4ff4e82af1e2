import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { assistant, call, recordAll, toolEnd, turnEnd, user } from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { openDatabase } from "../lib/sqlite/database.ts";
import { loadSqlite } from "../lib/sqlite/sqlite.ts";
import { systemClock } from "../lib/time/clock.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { sessionMigrations } from "./session-migrations.ts";
import { openSessionStore } from "./session-store.ts";

const Sqlite = await loadSqlite();
const fixture = (name: string): string =>
  readFileSync(new URL(`../../test/fixtures/sessions/${name}.sql`, import.meta.url), "utf8");

/** The schema of every released version, as recorded at its release, and the current schema. */
const SHAPES = [
  { version: 3, sql: fixture("version-3") },
  { version: 4, sql: fixture("version-4") },
  { version: 6, sql: fixture("version-6") },
  { version: 7, sql: fixture("version-7") },
  {
    version: sessionMigrations.length,
    sql: sessionMigrations.map((step) => ("sql" in step ? step.sql : "")).join(";\n"),
  },
];

/** A completed turn, and a turn that was interrupted in its second call. */
const ROWS = `
  insert into session (key, id, source, title, cwd, provider, model, created_at, active_at, system_prompt, tools_json)
    values (7, '20250101_000000_abcdef', 'cli', 'mine', '/work', 'scripted', 'm-1', 1, 2, '"You help."', '[]');
  insert into turn (key, session_key, id, started_at, ended_at, outcome) values
    (1, 7, 't1', 1, 2, 'completed'), (2, 7, 't2', 3, null, null);
  insert into message (key, turn_key, position, role, created_at, body) values
    (1, 1, 0, 'user', 1, '[{"type":"text","text":"find the haystack"}]'),
    (2, 1, 1, 'assistant', 1, '[{"type":"text","text":"found"}]'),
    (3, 2, 0, 'user', 3, '[{"type":"text","text":"again"}]'),
    (4, 2, 1, 'assistant', 3,
     '[{"type":"tool-call","callId":"c1","tool":"terminal","input":"{}"},{"type":"tool-call","callId":"c2","tool":"terminal","input":"{}"}]'),
    (5, 2, 2, 'tool', 3, '"done"');
  insert into tool_call (session_key, message_key, position, call_id, tool, state, outcome, result_key, duration_ms) values
    (7, 4, 0, 'c1', 'terminal', 'ended', 'ok', 5, 1), (7, 4, 1, 'c2', 'terminal', 'started', null, null, null);
  insert into request (session_key, turn_key, message_key, provider, model, sent_at, finish, cost_usd) values
    (7, 1, 2, 'scripted', 'm-1', 1, 'stop', 0.5);
  insert into lease (token, name, owner, ttl_ms, expires_at) values (41, 'turn/other', 'x', 1, 1);`;

test.each(SHAPES)(
  "sessions of version $version are upgraded completely, and an older build refuses them afterwards",
  async ({ version, sql }) => {
    await using folder = await tempFolder();
    const path = folder.file("sessions.sqlite");
    const raw = new Sqlite(path);
    raw.pragma("foreign_keys = ON");
    raw.exec(sql);
    raw.exec(ROWS);
    raw.pragma(`application_id = ${0x48524d53}`);
    raw.pragma(`user_version = ${version}`);
    raw.close();

    using store = await openSessionStore(path, {}, neverAborted);
    expect(await store.checkIntegrity()).toEqual([]);
    const id = "20250101_000000_abcdef";
    expect(store.list.list({ limit: 9 })).toMatchObject([{ id, title: "mine", activeAt: 2 }]);
    const { messages, openTurn } = store.loadSession(id);
    expect(messages.slice(0, 3)).toEqual([
      { role: "system", text: "You help." },
      user("find the haystack"),
      { role: "assistant", parts: [{ type: "text", text: "found" }] },
    ]);
    expect(openTurn).toMatchObject({ turnId: "t2", pendingCalls: [{ call: call("c2"), started: true }] });
    const found = await store.search({ text: "haystack", limit: 9, order: "best" }, neverAborted);
    expect(found.map(({ session }) => session.id)).toEqual([id]);
    // An outcome that did not exist in the first version.
    await recordAll(store, id, [
      toolEnd("c2", "?", "unknown"),
      assistant("cut here"),
      { ...turnEnd("t2"), outcome: "cut" } as ReturnType<typeof turnEnd>,
    ]);
    expect(store.loadSession(id).openTurn).toBeUndefined();
    expect(await store.checkIntegrity()).toEqual([]);

    const older = sessionMigrations.slice(0, -1);
    await expect(
      openDatabase(path, { migrations: older, synchronous: "NORMAL", clock: systemClock }, neverAborted),
    ).rejects.toMatchObject({ code: "database-newer" });
  },
);
