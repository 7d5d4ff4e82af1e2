import { expect, test } from "vitest";
import { converse, recordAll, turnEnd, turnStart } from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { TurnableClock } from "../../test/support/turnable-clock.ts";
import { readOwnIdentity } from "../lib/process/process-identity.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { resolveSession, type SessionChoice } from "./resolve-session.ts";
import { openSessionStore } from "./session-store.ts";

async function openLab() {
  const folder = await tempFolder();
  const clock = new TurnableClock();
  const store = await openSessionStore(folder.file("s.sqlite"), { clock }, neverAborted);
  return {
    store,
    clock,
    resolve: (choice: SessionChoice) => resolveSession(store.list, choice)?.id,
    add: async (more: Parameters<typeof converse>[3] = {}) => {
      await clock.advance(1_000);
      return converse(store, "question", "answer", more);
    },
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("no session is resumed unless the user selects one", async () => {
  await using lab = await openLab();
  await lab.add();
  expect(lab.resolve({})).toBeUndefined();
});

test("M5: -c selects the most recently used session, including one-shot runs, but never a session that a program started", async () => {
  await using lab = await openLab();
  const first = await lab.add();
  const oneshot = await lab.add({ source: "oneshot", cwd: "/elsewhere" });
  for (const source of ["kanban", "tool", "subagent"]) await lab.add({ source });
  expect(lab.resolve({ continue: true })).toBe(oneshot);
  expect(lab.resolve({ resume: "latest" })).toBe(oneshot);
  expect(lab.resolve({ continue: true, cwd: "/work" })).toBe(first);
  await lab.clock.advance(1_000);
  await recordAll(lab.store, first, [turnStart("t2", "more"), turnEnd("t2")]);
  expect(lab.resolve({ continue: true })).toBe(first);
  expect(() => lab.resolve({ continue: true, cwd: "/nowhere" })).toThrow(
    "no session to continue in /nowhere",
  );
});

test("-r takes an id, a unique prefix of an id, or a title", async () => {
  await using lab = await openLab();
  const first = await lab.add({ title: "Ports" });
  const second = await lab.add();
  expect(lab.resolve({ resume: first })).toBe(first);
  expect(lab.resolve({ resume: second.slice(0, -2) })).toBe(second);
  expect(lab.resolve({ resume: " ports " })).toBe(first);
  expect(lab.resolve({ continue: "Ports" })).toBe(first);
});

test("an ambiguous prefix is refused with the candidates, an unknown name with the closest match", async () => {
  await using lab = await openLab();
  const first = await lab.add({ title: "release notes" });
  const second = await lab.add();
  const day = first.slice(0, 8);
  expect(() => lab.resolve({ resume: day })).toThrow(
    expect.objectContaining({
      code: "session-ambiguous",
      message: `Several sessions begin with ${day}:\n  ${second}\n  ${first}  release notes`,
    }),
  );
  for (const choice of [{ resume: "realease notes" }, { continue: "realease notes" }])
    expect(() => lab.resolve(choice)).toThrow(
      expect.objectContaining({ code: "session-not-found", hint: 'Did you mean "release notes"?' }),
    );
  expect(() => lab.resolve({ resume: "%" })).toThrow(
    expect.objectContaining({ hint: "See `hermes sessions list`." }),
  );
  expect(() => lab.resolve({ resume: "" })).toThrow(expect.objectContaining({ code: "session-not-found" }));
});

test("M5: a title selects the session with exactly this title, never one that only contains the same words", async () => {
  await using lab = await openLab();
  const first = await lab.add({ title: "plan" });
  const second = await lab.add({ title: "plan" });
  expect(lab.store.list.find(second)?.title).toBe("plan #2");
  expect(lab.resolve({ continue: "plan" })).toBe(first);
  expect(lab.resolve({ resume: "PLAN #2" })).toBe(second);
  await lab.store.list.rename(first, "other", neverAborted);
  expect(() => lab.resolve({ continue: "plan" })).toThrow(
    expect.objectContaining({ code: "session-not-found" }),
  );
});

test("D4: an archived session is never the latest one; a new message restores it", async () => {
  await using lab = await openLab();
  const first = await lab.add();
  const second = await lab.add({ title: "done" });
  await lab.store.history().setArchived(second, true, await readOwnIdentity(neverAborted), neverAborted);
  expect(lab.resolve({ continue: true })).toBe(first);
  expect(lab.resolve({ resume: "done" })).toBe(second);
  expect(lab.store.list.list({ archived: true, limit: 9 }).map(({ id }) => id)).toEqual([second]);
  await recordAll(lab.store, second, [turnStart("t2", "more"), turnEnd("t2")]);
  expect(lab.store.list.list({ archived: false, limit: 9 })).toHaveLength(2);
  expect(lab.resolve({ continue: true })).toBe(second);
});

test("D: a title is one visible line of at most 100 characters that no other session has", async () => {
  await using lab = await openLab();
  const first = await lab.add();
  const second = await lab.add();
  const { list } = lab.store;
  expect(await list.rename(first, " a\u202e \u200bb\n\tc\u0007 ", neverAborted)).toBe("a b c");
  expect(await list.rename(first, "x".repeat(99) + "😀".repeat(9), neverAborted)).toBe("x".repeat(99));
  await expect(list.rename(first, "\u200b\n", neverAborted)).rejects.toMatchObject({
    code: "session-title-invalid",
  });
  await list.rename(first, "Plan", neverAborted);
  await list.rename(first, "Plan", neverAborted);
  await expect(list.rename(second, "plan", neverAborted)).rejects.toMatchObject({
    code: "session-title-taken",
    message: expect.stringContaining(first),
  });
  await expect(list.rename("nowhere", "b", neverAborted)).rejects.toMatchObject({
    code: "session-not-found",
  });
  expect(await list.suggestTitle(first, "better", neverAborted)).toBe(false); // the user's title is kept
  expect(await list.suggestTitle(second, "plan", neverAborted)).toBe(true);
  expect(list.find(second)?.title).toBe("plan #2");
});
