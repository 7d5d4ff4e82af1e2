import { expect, test } from "vitest";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { createTurnJournal } from "./turn-journal.ts";

const text = (value: string) => ({ type: "text-delta", text: value }) as const;
const SIZE = { maxEvents: 3, maxChars: 1_000 };

test("a late watcher learns which events were dropped, and gets the rest", async () => {
  const journal = createTurnJournal(SIZE);
  for (const word of ["a", "b", "c", "d", "e"]) journal.append(text(word));
  journal.end();
  const items = [];
  for await (const item of journal.watch(1, neverAborted)) items.push(item);
  expect(items).toEqual([
    { dropped: true, upTo: 2 },
    { id: 3, event: text("c") },
    { id: 4, event: text("d") },
    { id: 5, event: text("e") },
  ]);
});

test("large events are dropped by their size, but the newest is kept", async () => {
  const journal = createTurnJournal(SIZE);
  journal.append(text("a"));
  journal.append(text("x".repeat(2_000)));
  journal.end();
  const ids = [];
  for await (const item of journal.watch(0, neverAborted)) ids.push("id" in item ? item.id : "dropped");
  expect(ids).toEqual(["dropped", 2]);
});

test("a watcher that never reads does not hold back the others or the turn", async () => {
  const journal = createTurnJournal(SIZE);
  const idle = journal.watch(0, neverAborted);
  const reading = journal.watch(0, neverAborted);
  const seen: number[] = [];
  for (let round = 0; round < 1_000; round++) {
    journal.append(text(`${round}`));
    const { value } = await reading.next();
    if (value !== undefined && "id" in value) seen.push(value.id);
  }
  expect(seen).toHaveLength(1_000);
  expect((await idle.next()).value).toEqual({ dropped: true, upTo: 997 });
});

test("an aborted watcher returns at once, and others keep waiting for the next event", async () => {
  const journal = createTurnJournal(SIZE);
  const leaving = new AbortController();
  const left = journal.watch(0, leaving.signal).next();
  const waiting = journal.watch(0, neverAborted).next();
  leaving.abort();
  expect((await left).done).toBe(true);
  journal.append(text("a"));
  expect((await waiting).value).toEqual({ id: 1, event: text("a") });
});
