import { expect, test } from "vitest";
import { bodyOfResult, summaryOfResult } from "./result-text.ts";

const END = { tool: "terminal", display: undefined, outcome: "ok", denied: undefined } as const;

test("a command that a new message has moved to the background says that it goes on", () => {
  const text = "process_id: moved_1\nstatus: running\nnotices: It was moved.\n\nbegun\n";
  expect(summaryOfResult({ ...END, text })).toMatch(/goes on in the background/);
  expect(bodyOfResult({ ...END, text })).toBe("begun");
  expect(summaryOfResult({ ...END, text: "exit_code: 0\n\nstatus: running" })).toBe("");
});

test("a background command is shown by the command that shows its output", () => {
  const text = JSON.stringify({ session_id: "proc_1", status: "running", notes: ["No terminal here."] });
  expect(bodyOfResult({ ...END, text })).toBe("runs in the background: /jobs proc_1\nNo terminal here.");
});
