import { statSync } from "node:fs";
import { expect, test } from "vitest";
import {
  assistant,
  converse,
  NEW_SESSION,
  recordAll,
  turnEnd,
  turnStart,
} from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { TurnableClock } from "../../test/support/turnable-clock.ts";
import { readOwnIdentity } from "../lib/process/process-identity.ts";
import { loadSqlite } from "../lib/sqlite/sqlite.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { openSessionStore } from "./session-store.ts";

const own = await readOwnIdentity(neverAborted);

test("D4: old sessions whose last turn has ended can be pruned, by source, and archived ones on request", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using store = await openSessionStore(folder.file("s.sqlite"), { clock }, neverAborted);
  const ended = await converse(store, "zebra", "yes");
  const oneshot = await converse(store, "zebra", "yes", { source: "oneshot" });
  const archived = await converse(store, "zebra", "yes");
  await store.history().setArchived(archived, true, own, neverAborted);
  const open = store.createSession(NEW_SESSION);
  await recordAll(store, open, [turnStart("t1", "crashed here")]);
  await clock.advance(1_000);
  const before = clock.now();
  const recent = await converse(store, "zebra", "yes");
  const prunableIds = (sources: string[], archived = false) =>
    store.list.prunable({ before, sources, archived }).map(({ id }) => id);
  expect(prunableIds([])).toEqual([ended, oneshot]);
  expect(prunableIds(["oneshot"])).toEqual([oneshot]);
  expect(prunableIds([], true)).toEqual([ended, oneshot, archived]);
  expect(store.list.prunable({ before, sources: [], archived: false })[0]?.bytes).toBe(
    JSON.stringify([[{ type: "text", text: "zebra" }], [{ type: "text", text: "yes" }]]).length - 3,
  );
  expect(prunableIds([])).not.toContain(recent);

  await recordAll(store, ended, [turnStart("t2", "used again"), assistant("yes"), turnEnd("t2")]);
  await expect(store.deleteSession(ended, own, neverAborted, before)).rejects.toMatchObject({
    code: "session-busy",
  });
  expect(await store.deleteSession(oneshot, own, neverAborted, before)).toMatchObject({ ids: [oneshot] });
});

test.each(["a new file", "a file of an earlier version"])(
  "D4: %s becomes smaller after sessions are deleted, and the other sessions stay",
  async (kind) => {
    await using folder = await tempFolder();
    const path = folder.file("s.sqlite");
    let kept = "";
    {
      using store = await openSessionStore(path, {}, neverAborted);
      kept = await converse(store, "stay here", "yes");
      const large = await converse(store, "large", "x".repeat(5_000_000));
      if (kind !== "a new file") {
        const Sqlite = await loadSqlite();
        const raw = new Sqlite(path);
        raw.pragma("auto_vacuum = NONE");
        raw.exec("VACUUM");
        raw.close();
      }
      await store.deleteSession(large, own, neverAborted);
      expect(await store.releaseSpace(neverAborted)).toBe(true);
      expect(await store.checkIntegrity()).toEqual([]);
    }
    expect(statSync(path).size).toBeLessThan(1_000_000);
    using store = await openSessionStore(path, {}, neverAborted);
    expect(store.loadSession(kept).messages).toHaveLength(3);
    expect(await store.search({ text: "stay", limit: 1, order: "best" }, neverAborted)).toHaveLength(1);
  },
);
