import { createColors } from "picocolors";
import { expect, test } from "vitest";
import type { Approval } from "../../../approvals/approval.ts";
import type { EndedCall, Entry } from "../state/entry.ts";
import { createPrinter } from "./printer.ts";

const ESC = "\u001b";

function print(entries: readonly Entry[], { columns = 80, colours = createColors(false) } = {}): string[] {
  const printer = createPrinter(colours, () => columns, { isRaw: false, wrap: "words", detail: "all" });
  return entries.flatMap((entry) => printer.print(entry));
}

const CALL: EndedCall = {
  callId: "c",
  number: 7,
  tool: "terminal",
  argument: "npm test",
  outcome: "ok",
  durationMs: 3,
  body: "",
  summary: "",
};
const DIFF = "--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n one\n-two\n+three";

function question(more: Partial<Approval>): Entry {
  const approval: Approval = {
    id: "a_1",
    sessionId: "s",
    kind: "approval",
    callId: "c",
    tool: "terminal",
    hash: "",
    summary: "rm -rf build",
    reason: "It removes build and everything in it.",
    rule: undefined,
    details: {},
    state: "waiting",
    scope: undefined,
    answer: undefined,
    answeredBy: undefined,
    askedAt: 0,
    endsAt: undefined,
    answeredAt: undefined,
    holder: undefined,
    ...more,
  };
  return { kind: "question", approval, number: 7, environment: "docker" };
}

const EVERYTHING: readonly Entry[] = [
  { kind: "greeting", parts: ["Hermes"] },
  { kind: "command", text: "/yolo" },
  { kind: "user", text: "hello", how: "sent" },
  {
    kind: "text",
    text: "**bold** `code` [link](https://x.y) ~~no~~\n\n```ts\nconst a = 1;\n```\n| a | b |\n|---|---|\n",
  },
  { kind: "text-end" },
  { kind: "call", call: { ...CALL, tool: "patch", body: DIFF } },
  { kind: "call", call: { ...CALL, outcome: "failed", body: "out", summary: "exit 1" } },
  question({}),
  { kind: "notice", text: "Stopped." },
  { kind: "error", text: "Refused.", hint: "Set a key." },
];

test("C11: without colours no line has an escape sequence, and a diff keeps its signs", () => {
  const lines = print(EVERYTHING);
  expect(lines.join("\n")).not.toContain(ESC);
  expect(lines).toEqual(expect.arrayContaining(["    2 -two", "    2 +three"]));
});

test("C11: with colours only the sixteen of the terminal are used, and no backgrounds", () => {
  const text = print(EVERYTHING, { colours: createColors(true) }).join("\n");
  const codes = text
    .split(`${ESC}[`)
    .slice(1)
    .map((part) => Number.parseInt(part, 10));
  expect(codes.length).toBeGreaterThan(10);
  for (const code of codes)
    expect(code < 30 || (code >= 30 && code <= 37) || code === 39 || (code >= 90 && code <= 97)).toBe(true);
});

test("C37: an approval shows the whole command, where it would run and why approval is needed, wrapped between words", () => {
  const command = `cd /srv/shop && ${"rm -rf dist ".repeat(20)}`.trim();
  const reason = "It removes dist and everything in it, in a folder that is shared with other programs.";
  const lines = print([question({ summary: "rm …", reason, details: { whole: command } })], { columns: 60 });
  const [head] = lines;
  expect(head).toBe("? 7 terminal wants to run, in docker · asks because: It");
  expect(lines.join(" ").replace(/\s+/g, " ")).toContain(reason);
  const rows = lines.filter((line) => line.startsWith("    ")).map((line) => line.slice(4));
  expect(rows.join("")).toBe(command);
});

test("C37: control and bidi characters of a command are visible, and /out shows the rows after the tenth", () => {
  const evil = `echo safe\u202e\u0007${ESC}[2K`;
  const shown = print([question({ summary: evil })]).join("\n");
  for (const character of ["\u0007", ESC, "\u202e"]) expect(shown).not.toContain(character);
  const long = Array.from({ length: 30 }, (_, index) => `step ${index}`).join("\n");
  const lines = print([question({ summary: long })]);
  expect(lines).toContain("    step 9");
  expect(lines.at(-1)).toBe("    … 20 more rows: /out 7");
});

test("a clarification is printed as its question", () => {
  const entry = question({ kind: "clarification", tool: "clarify", summary: "Which database?" });
  expect(print([entry])).toEqual(["? Which database?"]);
});

test("C33: of 100,000 lines the last five are printed, and how to see the rest", () => {
  const body = Array.from({ length: 100_000 }, (_, index) => `${index + 1}`).join("\n");
  expect(print([{ kind: "call", call: { ...CALL, body } }])).toEqual([
    "→ 7 terminal npm test",
    "    … 99995 lines before; all of it: /out 7",
    ...[99_996, 99_997, 99_998, 99_999, 100_000].map((line) => `    ${line}`),
    "  ✓ 3 ms",
  ]);
  const six = { ...CALL, body: "1\n2\n3\n4\n5\n6" };
  expect(print([{ kind: "call", call: six }])).toContain("    … 1 line before; all of it: /out 7");
  const saved =
    "1\n\n[Output truncated: 9 of 10 bytes are omitted. The full output is in /h/out-1.log]\n\n2\n3\n4\n5\n6";
  expect(print([{ kind: "call", call: { ...CALL, body: saved } }])).toContain(
    "    … many lines before; all of it: /out 7",
  );
});

test("the reason of a call that was not run is wrapped between words", () => {
  const summary = `not run: ${"a reason that is long ".repeat(10)}`.trim();
  const lines = print([{ kind: "call", call: { ...CALL, outcome: "not-run", summary } }], { columns: 40 });
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(40);
  expect(lines.join(" ").replace(/\s+/g, " ")).toContain(summary);
});

test("a slash command is printed above its result, with an empty line before it and after it", () => {
  const lines = print([
    { kind: "command", text: "/status" },
    { kind: "lines", lines: ["session  s1"] },
    { kind: "command-end" },
    { kind: "command", text: "/todo" },
    { kind: "lines", lines: ["nothing"] },
    { kind: "command-end" },
  ]);
  expect(lines).toEqual(["❯ /status", "session  s1", "", "❯ /todo", "nothing", ""]);
});

test("the lines that references have added to a message are counted, not printed", () => {
  expect(print([{ kind: "user", text: "see @a.ts", how: "sent", addedLines: 4 }])).toEqual([
    "❯ see @a.ts",
    "  + 4 lines of what it refers to",
    "",
  ]);
});

test("only the beginning of a long message is printed", () => {
  const text = Array.from({ length: 2_000 }, (_, index) => `line ${index}`).join("\n");
  const lines = print([{ kind: "user", text, how: "sent" }]);
  expect(lines).toHaveLength(11);
  expect(lines.at(-2)).toBe("  … 1991 more lines, which were sent too");
});
