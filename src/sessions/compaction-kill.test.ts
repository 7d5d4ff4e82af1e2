import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startChild } from "../../test/support/child.ts";
import { requireValidHistory } from "../../test/support/compaction-lab.ts";
import { scale } from "../../test/support/scale.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { loadSqlite } from "../lib/sqlite/sqlite.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { openSessionStore } from "./session-store.ts";

const CHILD = new URL("../../test/support/compaction-child.ts", import.meta.url);

test(`M1: a process killed ${scale.killMoments / 2} times around its compactions loses nothing and compacts nothing twice`, {
  timeout: 1_200_000,
}, async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  const sessionId = "20260101_000000_abcdef";
  let before: readonly string[] = [];
  for (let kill = 0; kill < scale.killMoments / 2; kill++) {
    await using child = startChild(CHILD, "talk-forever", { path, sessionId });
    await child.next(); // a summary is being written
    await sleep(Math.random() * 60); // before, during or after the commit of the compaction
    await child.kill();
    using store = await openSessionStore(path, {}, neverAborted);
    const { messages, compaction, openTurn } = store.loadSession(sessionId);
    const pending = new Set(openTurn?.pendingCalls.map(({ call }) => call.callId));
    requireValidHistory(messages, pending);
    expect(compaction.replaced).toBeLessThan(messages.length);
    const transcript = store
      .history()
      .readTranscript(sessionId)
      .map(({ message }) => message);
    requireValidHistory(transcript, pending);
    const said = transcript.filter(({ role }) => role !== "tool").map((message) => JSON.stringify(message));
    expect(said.slice(0, before.length)).toEqual(before);
    before = said;
  }
  // Every kill may have come before the commit; this process commits two compactions before it starts its third.
  await using last = startChild(CHILD, "talk-forever", { path, sessionId });
  for (let started = 0; started < 3; started++) await last.next();
  await last.kill();
  using store = await openSessionStore(path, {}, neverAborted);
  expect(await store.checkIntegrity()).toEqual([]);
  const Sqlite = await loadSqlite();
  const raw = new Sqlite(path, { readonly: true });
  const boundaries = raw.prepare("select from_key from compaction order by key").pluck().all() as number[];
  raw.close();
  expect(boundaries.length).toBeGreaterThan(1);
  expect(boundaries).toEqual([...new Set(boundaries)].toSorted((one, other) => one - other));
});
