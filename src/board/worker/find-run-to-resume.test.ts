import { expect, test } from "vitest";
import type { BoardEvent, Run } from "../task.ts";
import { findRunToResume } from "./find-run-to-resume.ts";

function run(id: number, details: Partial<Run> = {}): Run {
  return {
    id,
    profile: "coder",
    source_status: "ready",
    session_id: "s1",
    outcome: "crashed",
    error: "exit code 1",
    ended_at: id * 100,
    ...details,
  } as Run;
}
const freshStart = (created_at: number) => ({ kind: "fresh_start", created_at }) as BoardEvent;
const own = run(9, { session_id: null, outcome: null, ended_at: null });
const resumed = (runs: readonly Run[], events: readonly BoardEvent[] = []) =>
  findRunToResume({ runs: [...runs, own], events }, own.id)?.id;

test("a run resumes the session of the last run that did not finish", () => {
  expect(resumed([run(1), run(2, { session_id: "s2", error: "other" })])).toBe(2);
  expect(resumed([run(1), run(2, { outcome: "completed" })])).toBeUndefined();
});

test("a session that failed twice with the same error is not resumed; a session that failed with two errors is", () => {
  expect(resumed([run(1), run(2)])).toBeUndefined();
  expect(resumed([run(1), run(2, { outcome: "gave_up" })])).toBeUndefined();
  const failed = (before: string, number: number) => ({
    error: `the worker ended with code 1\n${before}hermes: no answer number ${number}\n  Add one.\nsession 2026_a${number}`,
  });
  expect(resumed([run(1, failed("→ terminal true\n", 2)), run(2, failed("", 3))])).toBeUndefined();
  expect(resumed([run(1), run(2, { error: "timed out" })])).toBe(2);
  expect(resumed([run(1), run(2, { session_id: "s2" })])).toBe(2);
  expect(resumed([run(1, { outcome: "reclaimed" }), run(2, { outcome: "reclaimed" })])).toBe(2);
});

test("after a request for a fresh start the next run has a new session, and the run after it resumes that session", () => {
  expect(resumed([run(1)], [freshStart(100)])).toBeUndefined();
  expect(resumed([run(1), run(2, { session_id: "s2", error: "other" })], [freshStart(150)])).toBe(2);
});
