import fc from "fast-check";
import { createColors } from "picocolors";
import { expect, test } from "vitest";
import { escapeControls, escapeForeignControls } from "./escape-controls.ts";

const HOSTILE = {
  "clear the screen": "\u001b[2J\u001b[H",
  "fill the clipboard": "\u001b]52;c;ZXZpbA==\u0007",
  "set the title": "\u001b]0;title\u001b\\",
  "an 8-bit sequence": "\u009b2J",
  "hide what follows": "\u001b[8m",
  "black on black": "\u001b[30;40m",
  "overwrite the line": "safe\revil",
  "erase by backspaces": "safe\b\b\b\bevil",
  "reverse the writing direction": "\u202egnp.exe",
  "mark text as right-to-left": "\u200fa\u061cb\u200e",
  "start a line in some viewers": "a\u2028b\u2029c",
};

const COLOUR = new RegExp(`${"\u001b"}\\[\\d+m`, "g");

test.each(Object.entries(HOSTILE))("control characters are shown and have no effect: %s", (_, text) => {
  for (const safe of [escapeControls, escapeForeignControls])
    expect(safe(text)).not.toMatch(/[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202e]/u);
});

test("our own colours, line feeds, tabs and all other characters are kept", () => {
  const colours = createColors(true);
  const own = [colours.bold, colours.dim, colours.red, colours.green, colours.yellow, colours.cyan];
  const line = own.map((colour) => colour("wörter\t天気 👩‍🚀\n")).join("");
  expect(escapeForeignControls(line)).toBe(line);
});

test("text split into pieces of any size never forms an escape sequence", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("\u001b", "[", "]", "2", "J", "m", ";", "\u009b", "a")),
      (pieces) => {
        const shown = pieces.map(escapeForeignControls).join("") + escapeForeignControls(pieces.join(""));
        expect(shown.replaceAll(COLOUR, "")).not.toMatch(/\p{Cc}/u);
      },
    ),
  );
});
