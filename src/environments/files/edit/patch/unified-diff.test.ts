import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { joinDiffs, movedDiff, unifiedDiff } from "./unified-diff.ts";

const run = promisify(execFile);

describe("unifiedDiff", () => {
  it("E4: can be applied by the program patch", async () => {
    await using temp = await tempFolder();
    const many = Array.from({ length: 60 }, (_, index) => `line ${index}`);
    const pairs: [string, string][] = [
      ["a\nb\nc\n", "a\nx\nc\n"],
      ["a\nb\nc", "a\nb\nc\n"],
      ["a\nb\nc\n", "a\nb\nc\nd"],
      [many.join("\n"), many.map((line, index) => (index % 20 === 3 ? `${line}!` : line)).join("\n")],
      ["one\n", ""],
      ["", "one\ntwo\n"],
      ["- a\n-- b\n+++ c\n", "-- b\n+++ c\n--- d\n"],
    ];
    for (const [before, after] of pairs) {
      await writeFile(temp.file("f"), before);
      await writeFile(temp.file("d"), unifiedDiff("f", before, after));
      await run("patch", ["-p1", "-s", "-i", "d", "f"], { cwd: temp.path }).catch((error) => {
        throw new Error(`${error.stdout}${unifiedDiff("f", before, after)}`);
      });
      const result = await readFile(temp.file("f"), "utf8").catch(() => ""); // patch removes files that become empty
      expect(result).toBe(after);
    }
  });

  it("names added and deleted files, and is empty for an unchanged file", () => {
    expect(unifiedDiff("a", undefined, "x\n")).toBe("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n");
    expect(unifiedDiff("a", "x\n", undefined)).toBe("--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n");
    expect(unifiedDiff("a", "x\n", "x\n")).toBe("");
    expect(movedDiff("a", "b", "x\n", "x\n")).toBe("rename from a\nrename to b\n");
    expect(movedDiff("a", "b", "x\n", "y\n")).toContain("--- a/a\n+++ b/b\n");
  });

  it("marks a missing newline at the end", () => {
    expect(unifiedDiff("a", "x\n", "x")).toContain("-x\n+x\n\\ No newline at end of file\n");
  });

  it("shows carriage returns only where line endings differ", () => {
    expect(unifiedDiff("a", "a\r\nb\r\n", "a\r\nc\r\n")).not.toMatch(/[\r\u240d]/);
    const mixed = unifiedDiff("a", "a\r\nb\r\n", "a\r\nb\n");
    expect(mixed).toContain("-b\u240d\n+b\n");
  });

  it("is bounded: a rewrite of a megabyte, a line of a megabyte, and many hunks", () => {
    const lines = (mark: string) =>
      Array.from({ length: 60_000 }, (_, index) => `${mark} ${index * 7}\n`).join("");
    const rewrite = unifiedDiff("a", lines("old"), lines("new"));
    expect(rewrite.length).toBeLessThan(1_000);
    expect(rewrite).toContain("60000 lines before, 60000 lines now");
    const long = unifiedDiff("a", `${"x".repeat(1_000_000)}\n`, `${"y".repeat(1_000_000)}\n`);
    expect(long.length).toBeLessThan(10_000);
    const hunks = unifiedDiff("a", lines("same"), lines("same").replaceAll(/same (\d*000)\n/g, "other $1\n"));
    expect(hunks.length).toBeLessThan(110_000);
    const joined = joinDiffs(Array.from({ length: 500 }, () => `${"x".repeat(9_000)}\n`));
    expect(joined.length).toBeLessThan(110_000);
    expect(joined).toContain("more files are not shown");
  });
});
