import { createColors } from "picocolors";
import { describe, expect, test } from "vitest";
import type { Task } from "../../../../board/task.ts";
import type { Status } from "../../../../board/transitions.ts";
import { cutText, textWidth, wrapText } from "../../../terminal/fit-text.ts";
import { type BoardColumn, renderBoard } from "./board-view.ts";

const colours = createColors(false);

function column(status: Status, titles: readonly string[], count = titles.length): BoardColumn {
  const tasks = titles.map((title, index) => {
    return {
      id: `t_${status}${index}`,
      seq: index + 1,
      title,
      assignee: "coder",
      priority: 0,
      hold: false,
    } as unknown as Task;
  });
  return { status, count, tasks };
}

const COLUMNS = [
  column("todo", []),
  column(
    "ready",
    ["設定ファイルの構文解析器を書く", "Write the parser for the new configuration format"],
    12,
  ),
  column("running", ["Ship it 🚀"]),
  column("done", ["Begin"]),
];

describe("the board in a terminal", () => {
  test("shows columns side by side if it is wide, and every line fits", () => {
    const lines = renderBoard(COLUMNS, { columns: 100, colours }).split("\n");
    expect(lines[0]).toMatch(/^READY 12 +RUNNING 1 +DONE 1$/);
    for (const line of lines) expect(textWidth(line), line).toBeLessThanOrEqual(100);
    // Wide characters take two columns; the neighbouring cell must not shift.
    const row = lines.find((line) => line.includes("Ship it")) ?? "";
    expect(row).toContain("設定");
    expect(textWidth(row.slice(0, row.indexOf("Ship it")))).toBe(lines[0]?.indexOf("RUNNING"));
    expect(lines.join("\n")).toContain("… 10 more");
    expect(lines.join("\n")).not.toContain("TODO");
  });

  test("shows columns below each other if it is narrow, and every line fits", () => {
    const text = renderBoard(COLUMNS, { columns: 50, colours });
    expect(text).toMatch(/^READY 12\n[\s\S]*\n\nRUNNING 1\n[\s\S]*\n\nDONE 1\n/);
    for (const line of text.split("\n")) expect(textWidth(line), line).toBeLessThanOrEqual(50);
  });

  test("cuts nothing in a pipe", () => {
    expect(renderBoard(COLUMNS, { columns: undefined, colours })).toContain(
      "Write the parser for the new configuration format",
    );
  });
});

describe("text for columns", () => {
  test("is as wide as a terminal shows it", () => {
    expect(textWidth("abc")).toBe(3);
    expect(textWidth("設定")).toBe(4);
    expect(textWidth("é")).toBe(1);
    expect(textWidth("🚀")).toBe(2);
  });

  test("is cut between characters, never through one", () => {
    expect(cutText("設定ファイル", 6)).toBe("設定…");
    expect(cutText("short", 5)).toBe("short");
    expect(cutText("longer", 5)).toBe("long…");
  });

  test("is broken between words, and within a word only if it is too long", () => {
    expect(wrapText("one two three", 7, 3)).toEqual(["one two", "three"]);
    expect(wrapText("abcdefghij", 4, 3)).toEqual(["abcd", "efgh", "ij"]);
    expect(wrapText("one two three four", 7, 2)).toEqual(["one two", "three…"]);
  });
});
