import { expect, test } from "vitest";
import type { LiveTurn, TurnFacts } from "../../../../src/api/contract/chat.ts";
import type { Entry, Turn } from "../../../../src/api/contract/sessions.ts";
import { applyEvent, joinTurns } from "./live-turn.ts";

const FACTS: TurnFacts = {
  ...{ state: "running", isStored: true, endedAt: null, outcome: null, reason: null, hint: null },
  ...{ costUsd: 0, notices: [], steers: [], questions: [] },
};
const said: Entry = { type: "user", key: 0, at: 1, text: "Hi", images: 0, isSteer: false };
const answer = (text: string): Entry => ({
  ...{ type: "assistant", key: 1, at: 2, text, reasoning: "", calls: [] },
});
const turn = (id: string, entries: readonly Entry[], change = 4): LiveTurn => ({
  ...{ id, profile: "default", session: "s", startedAt: 1, entries: [...entries], facts: FACTS, change },
});
const stored = (id: string): Turn => ({
  ...{ id, startedAt: 1, endedAt: 2, outcome: "completed", reason: null, isUndone: true },
  ...{ isCompacted: false, costUsd: 0, entries: [said] },
});

test("text grows, an older change is ignored, and a missed one means that the turn is read again", () => {
  const text = { type: "text", index: 1, field: "text", from: 2, text: "llo" } as const;
  const before = turn("t", [said, answer("He")]);
  expect(applyEvent(before, { turn: "t", change: 5, patches: [text] })?.entries[1]?.text).toBe("Hello");
  expect(applyEvent(before, { turn: "t", change: 4, patches: [text] })).toBe(before);
  expect(applyEvent(before, { turn: "t", change: 6, patches: [text] })).toBeUndefined();
  expect(applyEvent(before, { turn: "t", change: 5, patches: [{ ...text, from: 9 }] })).toBeUndefined();
});

test("an unfinished step is cut and written again", () => {
  const patches = [
    { type: "cut", length: 1 },
    { type: "entry", index: 1, entry: answer("Again") },
  ] as const;
  const after = applyEvent(turn("t", [said, answer("Bro")]), { turn: "t", change: 5, patches: [...patches] });
  expect(after?.entries.map(({ text }) => text)).toEqual(["Hi", "Again"]);
});

test("a live turn replaces its stored form, and one that is not stored follows the others", () => {
  const joined = joinTurns([stored("a"), stored("b")], [turn("b", [said, answer("x")]), turn("c", [said])]);
  expect(joined.map(({ id, entries, isUndone }) => [id, entries.length, isUndone])).toEqual([
    ["a", 1, true],
    ["b", 2, true],
    ["c", 1, false],
  ]);
});
