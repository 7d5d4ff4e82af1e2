import { Terminal } from "@xterm/headless";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createScreen, type LiveArea } from "./screen.ts";
import { styledWidth } from "./styled-width.ts";

/** A real terminal emulator with a screen on it. */
function openLab(columns = 80, rows = 24) {
  const terminal = new Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  let bytes = "";
  const screen = createScreen({
    write(text) {
      bytes += text;
      terminal.write(text);
    },
    size: () => ({ columns: terminal.cols, rows: terminal.rows }),
    rewraps: true,
  });
  const flush = () => new Promise<void>((resolve) => terminal.write("", resolve));
  return {
    screen,
    terminal,
    bytes: () => bytes,
    async print(text: string) {
      await new Promise<void>((resolve) => terminal.write(text, resolve));
    },
    async resize(width: number, height: number, live: LiveArea) {
      await flush();
      terminal.resize(width, height);
      screen.resize([], live);
      await flush();
    },
    async lines(): Promise<string[]> {
      await flush();
      const { active } = terminal.buffer;
      const found: string[] = [];
      for (let index = 0; index < active.length; index++) {
        const line = active.getLine(index);
        const text = line?.translateToString(true) ?? "";
        if (line?.isWrapped) found[found.length - 1] += text;
        else found.push(text);
      }
      return found.slice(0, found.findLastIndex((line) => line !== "") + 1);
    },
    async cursor() {
      await flush();
      const { cursorX, cursorY } = terminal.buffer.active;
      return { column: cursorX, row: cursorY };
    },
  };
}

const live = (...rows: string[]): LiveArea => ({ rows, caret: { row: rows.length - 1, column: 0 } });

test("finished lines stay above the live area, which is redrawn below them", async () => {
  const lab = openLab();
  lab.screen.show([], live("input", "status"));
  lab.screen.show(["one", "two"], live("input", "other status", "third row"));
  lab.screen.show([], live("input", "status"));
  expect(await lab.lines()).toEqual(["one", "two", "input", "status"]);
});

test("a line as wide as the window keeps its last character", async () => {
  const lab = openLab(10);
  lab.screen.show(["0123456789", "01234567890123456789"], live("input"));
  expect(await lab.lines()).toEqual(["0123456789", "01234567890123456789", "input"]);
});

test("C6: live rows end before the last column", async () => {
  const lab = openLab(10);
  lab.screen.show([], live("0123456789abc"));
  expect(await lab.lines()).toEqual(["01234567…"]);
});

test("C7: only the rows that have changed are written", async () => {
  const lab = openLab();
  lab.screen.show([], live("first", "second", "third"));
  const before = lab.bytes().length;
  lab.screen.show([], live("first", "other", "third"));
  const written = lab.bytes().slice(before);
  expect(written).toContain("other");
  expect(written).not.toMatch(/first|third/);
  expect(await lab.lines()).toEqual(["first", "other", "third"]);
});

test("C9: what has not changed writes no byte", () => {
  const lab = openLab();
  lab.screen.show([], live("input", "status"));
  const before = lab.bytes().length;
  lab.screen.show([], live("input", "status"));
  expect(lab.bytes()).toHaveLength(before);
});

test("C8: the cursor stands at the caret after every frame", async () => {
  const lab = openLab();
  lab.screen.show(["text"], { rows: ["a", "❯ word", "status"], caret: { row: 1, column: 6 } });
  expect(await lab.cursor()).toEqual({ column: 6, row: 2 });
  lab.screen.show([], { rows: ["a", "❯ words", "status"], caret: { row: 1, column: 7 } });
  expect(await lab.cursor()).toEqual({ column: 7, row: 2 });
});

test("C1, C5: whatever the sizes of the window, earlier output and every line are kept, in order, and nothing is cleared", async () => {
  const width = fc.integer({ min: 20, max: 120 });
  const height = fc.integer({ min: 6, max: 40 });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(width, height), { minLength: 1, maxLength: 12 }), async (sizes) => {
      const lab = openLab();
      const shell = Array.from({ length: 60 }, (_, index) => `shell ${index}`);
      await lab.print(`${shell.join("\r\n")}\r\n`);
      const area = live(
        "❯ typed text",
        "a status row that is rather long, so that it is cut when it gets narrow",
      );
      lab.screen.show([], area);
      const printed: string[] = [];
      for (const [index, [columns, rows]] of sizes.entries()) {
        const lines = Array.from({ length: 5 }, (_, at) => `answer ${index}.${at} ${"x".repeat(index * 7)}`);
        printed.push(...lines);
        lab.screen.show(lines, area);
        await lab.resize(columns, rows, area);
      }
      const found = (await lab.lines()).filter((line) => /^(?:shell|answer) /.test(line));
      expect(found).toEqual([...shell, ...printed]);
      for (const code of ["2J", "3J", "?1049h"]) expect(lab.bytes()).not.toContain(`\u001b[${code}`);
    }),
    { numRuns: 25 },
  );
});

test("C5: a new height changes nothing above the live area", async () => {
  const lab = openLab();
  const area = live("❯ typed text", "status");
  lab.screen.show(
    Array.from({ length: 40 }, (_, index) => `line ${index}`),
    area,
  );
  const before = await lab.lines();
  for (const rows of [12, 30, 8, 24]) {
    await lab.resize(80, rows, area);
    expect(await lab.lines()).toEqual(before);
  }
});

test("C4: a view that was scrolled up does not move while 1,000 lines arrive", async () => {
  const lab = openLab();
  const area = live("❯ typed text", "status");
  lab.screen.show(
    Array.from({ length: 100 }, (_, index) => `line ${index}`),
    area,
  );
  await lab.lines();
  lab.terminal.scrollLines(-40);
  const { viewportY } = lab.terminal.buffer.active;
  for (let index = 0; index < 1_000; index++) lab.screen.show([`more ${index}`], area);
  await lab.lines();
  expect(lab.terminal.buffer.active.viewportY).toBe(viewportY);
});

test("C12: caret and erase agree with the terminal for wide, combining, Thai and right-to-left text", async () => {
  for (const text of ["日本語", "e\u0301a\u0308", "สวัสดี", "שלום"]) {
    const lab = openLab(40);
    const column = styledWidth(text);
    lab.screen.show([], { rows: [text, "status"], caret: { row: 0, column } });
    await lab.print("|");
    expect((await lab.lines())[0]).toBe(`${text}|`);
  }
});
