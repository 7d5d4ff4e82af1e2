import { EventEmitter } from "node:events";
import { Terminal } from "@xterm/headless";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createPainter } from "./painter.ts";
import { createScreen } from "./screen.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A terminal that rewraps its lines some time before it reports its new size, as real ones do. */
function openLab({ isInTmux = false } = {}) {
  const terminal = new Terminal({ cols: 80, rows: 24, scrollback: 10_000, allowProposedApi: true });
  const reported = { columns: 80, rows: 24 };
  const stdout = Object.assign(new EventEmitter(), reported);
  let bytes = "";
  const screen = createScreen({
    write(text) {
      bytes += text;
      terminal.write(text);
    },
    size: () => reported,
    rewraps: true,
  });
  const status = "a status row that is rather long, so that a narrow window has to rewrap it";
  const live = () => ({ rows: ["unfinished text", "❯ typed", status], caret: { row: 1, column: 7 } });
  const painter = createPainter({ screen, stdout: stdout as unknown as NodeJS.WriteStream, isInTmux, live });
  const flush = async () => {
    const isFlushed = new Promise<void>((resolve) => terminal.write("", resolve));
    vi.advanceTimersByTime(0); // the emulator parses in a timer
    await isFlushed;
  };
  return {
    painter,
    bytes: () => bytes,
    async rewrap(columns: number, rows: number) {
      await flush();
      terminal.resize(columns, rows);
    },
    reportSize() {
      Object.assign(reported, { columns: terminal.cols, rows: terminal.rows });
      stdout.emit("resize");
    },
    async lines() {
      await flush();
      const { active } = terminal.buffer;
      const found: string[] = [];
      for (let index = 0; index < active.length; index++) {
        const line = active.getLine(index);
        const text = line?.translateToString(true) ?? "";
        if (line?.isWrapped) found[found.length - 1] += text;
        else if (text !== "") found.push(text);
      }
      return found;
    },
  };
}

test.each([
  ["C5: no byte is written until the size has been quiet for 80 ms", false, 79],
  ["C5: in tmux, which reports a new size up to 250 ms late, no byte is written for 300 ms", true, 299],
])("%s", (_, isInTmux, quietMs) => {
  const lab = openLab({ isInTmux });
  lab.painter.start();
  const before = lab.bytes();
  for (let step = 0; step < 28; step++) {
    lab.painter.append([`line ${step}`]);
    lab.painter.schedule();
    lab.reportSize();
    vi.advanceTimersByTime(quietMs);
  }
  expect(lab.bytes()).toBe(before);
  vi.advanceTimersByTime(1);
  expect(lab.bytes().slice(before.length)).toMatch(/line 0[\s\S]*line 27/);
});

test("C17: a key is echoed without waiting for the next frame, but not while the window changes its size", async () => {
  const lab = openLab();
  lab.painter.start();
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  lab.painter.append(["first"]);
  lab.painter.echo();
  await nextTurn();
  expect(lab.bytes()).toContain("first");
  lab.reportSize();
  lab.painter.append(["second"]);
  lab.painter.echo();
  await nextTurn();
  expect(lab.bytes()).not.toContain("second");
  vi.advanceTimersByTime(80);
  expect(lab.bytes()).toContain("second");
});

test("C1, C10: a window that is dragged in 28 steps and made tiny keeps every line once and in order, with at most one stray row", async () => {
  const lab = openLab();
  lab.painter.start();
  const widths = [
    80, 76, 72, 68, 64, 60, 65, 70, 75, 80, 85, 90, 95, 100, 90, 80, 70, 60, 50, 40, 45, 50, 55,
  ];
  const sizes = [...widths, 60, 65, 70, 75, 80].map((columns) => [columns, 24] as const);
  const printed: string[] = [];
  for (const [index, [columns, rows]] of sizes.entries()) {
    printed.push(`line ${index}`);
    lab.painter.append([`line ${index}`]);
    await lab.rewrap(columns, rows);
    lab.reportSize();
    lab.painter.schedule();
    vi.advanceTimersByTime(40);
    await lab.lines();
  }
  vi.advanceTimersByTime(100);
  const status = "a status row that is rather long, so that a narrow window has to rewrap it";
  const dragged = await lab.lines();
  expect(dragged.filter((line) => line.startsWith("line "))).toEqual(printed);
  expect(dragged.slice(-3)).toEqual(["unfinished text", "❯ typed", status]);
  expect(dragged.length - printed.length - 3).toBeLessThanOrEqual(1);
  await lab.rewrap(20, 6);
  lab.reportSize();
  vi.advanceTimersByTime(100);
  await lab.lines();
  await lab.rewrap(80, 24);
  lab.reportSize();
  vi.advanceTimersByTime(100);
  const after = await lab.lines();
  expect(after.filter((line) => line.startsWith("line "))).toEqual(printed);
  expect(after.slice(-3)).toEqual(["unfinished text", "❯ typed", status]);
  for (const code of ["[2J", "[3J", "[?1049h"]) expect(lab.bytes()).not.toContain(code);
});
