import { expect, test } from "vitest";
import { createInputLine, type KeyAction } from "./input-line.ts";
import { createKeyBindings, type KeySettings } from "./key-bindings.ts";
import { KEY_NAMES, KEY_TABLE, type KeyName } from "./key-table.ts";

const CTRL = (letter: string): string => String.fromCharCode(letter.charCodeAt(0) & 31);
const UP = "\u001b[A";
const DOWN = "\u001b[B";
const TAB = "\t";
const ESC = "\u001b";
const BACKSPACE = "\u007f";

function openLine(
  { settings = {}, hasQueue = false, hasQuestion = false, now = () => 1_000 } = {} as {
    settings?: KeySettings;
    hasQueue?: boolean;
    hasQuestion?: boolean;
    now?: () => number;
  },
) {
  const sent: string[] = [];
  const remembered: string[] = [];
  const keys = createKeyBindings(settings);
  const line = createInputLine({
    keys: () => keys,
    rows: () => 24,
    complete: (before) =>
      before.startsWith("/")
        ? {
            typed: before,
            items: ["/model", "/models", "/help"]
              .filter((name) => name.startsWith(before))
              .map((value) => ({ value, summary: "" })),
          }
        : undefined,
    now,
    onSubmit: (text) => void sent.push(text),
    onRemember: (text) => void remembered.push(text),
    onChange: () => undefined,
  });
  const press = (...sequences: string[]): KeyAction | undefined =>
    sequences.map((sequence) => line.press(sequence, { hasQueue, hasQuestion })).at(-1);
  const type = (text: string): void => void press(...text);
  line.view(80);
  return { line, press, type, sent, remembered };
}

test.each([
  [CTRL("c"), "interrupt"],
  [CTRL("d"), "leave"],
  [CTRL("z"), "suspend"],
  [CTRL("l"), "redraw"],
  [CTRL("r"), "search"],
  [CTRL("g"), "editor"],
  [CTRL("p"), "palette"],
  [CTRL("o"), "output"],
  [CTRL("v"), "paste"],
  [`${ESC}v`, "paste"],
  [`${ESC}[Z`, "mode"],
  [ESC, "stop"],
  ["?", "help"],
] as const)("keys: %j on an empty line means %s", (sequence, action) => {
  expect(openLine().press(sequence)).toBe(action);
});

test("keys: Ctrl+X Ctrl+E is a sequence of two keys, and the first alone does nothing", () => {
  const { press, line } = openLine();
  expect(press(CTRL("x"))).toBeUndefined();
  expect(press(CTRL("e"))).toBe("editor");
  press(CTRL("x"), "a");
  expect(line.draft()).toBe("a");
});

test.each(["\n", `${ESC}\r`, `${ESC}[13;2u`, `${ESC}[27;2;13~`])(
  "keys: %j begins a new line, and so does a backslash before Enter",
  (sequence) => {
    const { press, type, line, sent } = openLine();
    type("one");
    press(sequence);
    type("two\\");
    press("\r");
    type("three");
    expect(line.draft()).toBe("one\ntwo\nthree");
    press("\r");
    expect(sent).toEqual(["one\ntwo\nthree"]);
  },
);

test("keys: the line is edited as in readline, with undo", () => {
  const { press, type, line } = openLine();
  type("one two three");
  press(CTRL("w"), CTRL("a"));
  type("x");
  press(`${ESC}f`, CTRL("k"));
  expect(line.draft()).toBe("xone");
  press(CTRL("y"));
  expect(line.draft()).toBe("xone two ");
  press("\u001f", "\u001f");
  expect(line.draft()).toBe("xone two ");
  press(CTRL("e"), CTRL("b"), CTRL("d"));
  expect(line.draft()).toBe("xone two");
  press(CTRL("u"));
  expect(line.draft()).toBe("");
});

test("keys: a setting changes the key of an action, and `none` removes it", () => {
  const { press, type, line } = openLine({
    settings: { palette: "f2", delete_to_end: "none", search: "ctrl+t" },
  });
  expect(press("\u001bOQ")).toBe("palette");
  expect(press(CTRL("p"))).toBeUndefined();
  expect(press(CTRL("t"))).toBe("search");
  type("ab");
  press(CTRL("a"), CTRL("k"));
  expect(line.draft()).toBe("ab");
});

test("keys: every name of the table has a key, and no two names share one", () => {
  const all = KEY_NAMES.flatMap((name: KeyName) => [...KEY_TABLE[name].keys]);
  expect(new Set(all).size).toBe(all.length);
  const keys = createKeyBindings({ stash: "none", palette: "ctrl+alt+p" });
  expect(keys.label("stash")).toBeUndefined();
  expect(keys.label("palette")).toBe("Ctrl+Alt+P");
  expect(keys.labels("editor")).toEqual(["Ctrl+G", "Ctrl+X Ctrl+E"]);
});

test("keys: unknown sequences and PageUp type nothing and do nothing", () => {
  const { press, line } = openLine();
  for (const sequence of [`${ESC}[5~`, `${ESC}[6~`, `${ESC}[?62;c`, `${ESC}[99~`, "\u0000"]) press(sequence);
  expect(line.draft()).toBe("");
});

test("C21: ↑ enters the history from a draft, entries can be edited, and ↓ restores all of them as they were", () => {
  const { press, type, line } = openLine();
  for (const text of ["first", "second"]) {
    type(text);
    press("\r");
  }
  type("draft");
  press(UP);
  expect(line.draft()).toBe("second");
  type("!");
  press(UP);
  expect(line.draft()).toBe("first");
  press(DOWN);
  expect(line.draft()).toBe("second!");
  press(DOWN);
  expect(line.draft()).toBe("draft");
});

test("C21: messages of this session come first, then of this folder, then the rest, and a row below the input says which", () => {
  const { press, type, line } = openLine();
  type("now");
  press("\r");
  line.loadHistory([
    { text: "far", from: "elsewhere" },
    { text: "near", from: "folder" },
    { text: "before", from: "session" },
    { text: "now", from: "session" },
  ]);
  const seen = [1, 2, 3, 4, 5].map(() => {
    press(UP);
    return [line.draft(), line.view(80).history?.from];
  });
  expect(seen).toEqual([
    ["now", "session"],
    ["before", "session"],
    ["near", "folder"],
    ["far", "elsewhere"],
    ["far", "elsewhere"],
  ]);
});

test("C21: ↑ moves in a draft of several lines and enters the history only at its edge", () => {
  const { press, type, line } = openLine();
  type("old");
  press("\r");
  type("one");
  press("\n");
  type("two");
  press(UP);
  expect(line.draft()).toBe("one\ntwo");
  press(UP);
  expect(line.draft()).toBe("old");
});

test("keys: ↑ on an empty line takes back a queued message", () => {
  expect(openLine({ hasQueue: true }).press(UP)).toBe("take-back");
});

test("keys: Ctrl+S sets the draft aside and brings it back; while a question waits, Tab does too", () => {
  for (const [key, hasQuestion] of [
    [CTRL("s"), false],
    [TAB, true],
  ] as const) {
    const { press, type, line } = openLine({ hasQuestion });
    type("half a thought");
    press(key);
    expect([line.draft(), line.stash()]).toEqual(["", "half a thought"]);
    press(key);
    expect([line.draft(), line.stash()]).toEqual(["half a thought", undefined]);
  }
});

test("C19: a long paste is one unit for the caret, Backspace and undo, and can be unfolded in three ways", () => {
  const text = Array.from({ length: 6 }, (_, index) => `line ${index}`).join("\n");
  const { press, line, sent } = openLine();
  line.paste(text);
  expect(line.view(80).rows).toEqual(["[paste #1 +6 lines]"]);
  press(BACKSPACE);
  expect(line.draft()).toBe("");
  press("\u001f");
  expect(line.draft()).toBe(text);
  expect(press(CTRL("o"))).toBeUndefined();
  expect(line.view(80).rows).toHaveLength(6);
  press("\u001f");
  line.paste(text);
  expect([line.draft(), line.view(80).rows.length]).toEqual([text, 6]);
  press("\r");
  expect(sent).toEqual([text]);
});

test("C19: a folded paste that was set aside comes back whole after another message was sent", () => {
  const text = "x\n".repeat(10);
  const { press, type, line, sent } = openLine();
  line.paste(text);
  press(CTRL("s"));
  type("first this");
  press("\r", CTRL("s"), "\r");
  expect(sent).toEqual(["first this", text]);
});

test("C18: a paste arrives byte for byte, including tabs and leading and trailing spaces", () => {
  const { press, line, sent } = openLine();
  line.paste("  all:\n\tmake\n");
  press("\r");
  expect(sent).toEqual(["  all:\n\tmake\n"]);
});

test("completion: Tab inserts the marked command; Enter sends the typed text unless a row was marked", () => {
  const one = openLine();
  one.type("/he");
  one.press(TAB);
  expect(one.line.draft()).toBe("/help");
  const two = openLine();
  two.type("/mo");
  expect(two.line.view(80).completion?.items.map(({ value }) => value)).toEqual(["/model", "/models"]);
  expect(two.press(ESC)).toBeUndefined();
  expect(two.line.view(80).completion).toBeUndefined();
  two.type("d");
  two.press(DOWN, DOWN, "\r");
  expect([two.line.draft(), two.sent]).toEqual(["/models", []]);
  two.press("\r");
  expect(two.sent).toEqual(["/models"]);
});

test("C22: clearing puts the draft into the history, once", () => {
  const { type, line, remembered, press } = openLine();
  type("unsent");
  line.clear();
  expect([line.draft(), remembered]).toEqual(["", ["unsent"]]);
  press(UP);
  expect(line.draft()).toBe("unsent");
});
