import { expect, test } from "vitest";
import { parseVerdict } from "./approvals.ts";

test.each(["yes", "y", " YES ", "ok", "approve", "Approved", "allow"])("%j approves", (text) => {
  expect(parseVerdict(text)).toEqual({ verdict: "approved" });
});

test.each([
  ["no", undefined],
  ["N", undefined],
  ["deny", undefined],
  ["no, use a branch", "use a branch"],
  ["No: use\na branch", "use\na branch"],
])("%j denies", (text, reason) => {
  expect(parseVerdict(text)).toEqual({ verdict: "denied", text: reason });
});

test.each([
  "Yes, but not with rm",
  "yes?",
  "yes no",
  "ok so what does it do?",
  "y/n",
  "approve only the first one",
  "not yet",
  "nobody knows",
  "no?",
  "",
])("%j is neither a yes nor a no", (text) => {
  expect(parseVerdict(text)).toBeUndefined();
});
