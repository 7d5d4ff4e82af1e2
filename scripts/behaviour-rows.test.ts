import { expect, test } from "vitest";
import { behaviourRowsPage, type TestFile } from "./behaviour-rows.ts";

/** The line of a row in the part of the page that is from that specification. */
function lineOf(spec: string, row: string, ...files: readonly TestFile[]): string | undefined {
  const part = behaviourRowsPage(files)
    .split(/^## /m)
    .find((text) => text.startsWith(spec));
  return part?.split("\n").find((line) => line.startsWith(`| ${row} |`));
}

const at = (path: string, title: string): TestFile => ({
  path,
  text: `  it(${JSON.stringify(title)}, () => {`,
});

test("the folder of a test says whose row it names", () => {
  const files = ["src/board/x.test.ts", "src/environments/x.test.ts", "src/agent/x.test.ts"].map((path) =>
    at(path, "C2: a thing holds"),
  );
  expect(lineOf("environments.md", "C2", ...files)).toBe(
    "| C2 | `src/environments/x.test.ts`: a thing holds |",
  );
  expect(lineOf("agent.md", "C2", ...files)).toBe("| C2 | `src/agent/x.test.ts`: a thing holds |");
});

test("a word before a row says another specification, also for the rows behind it", () => {
  const file = at("src/lib/x.test.ts", "board A8, G29: both hold");
  expect(lineOf("board.md", "G29", file)).toBe("| G29 | `src/lib/x.test.ts`: both hold |");
  expect(lineOf("environments.md", "C29", file)).toBe("| C29 | no test names it yet |");
});

test("a tool's test names rows of the agent, and else of the environments", () => {
  const file = at("src/tools/x.test.ts", "C2, E4, #123: it holds");
  expect(lineOf("agent.md", "C2", file)).toContain("it holds");
  expect(lineOf("environments.md", "E4", file)).toContain("it holds");
  expect(lineOf("environments.md", "C2", file)).toBe("| C2 | no test names it yet |");
});

test("rows with a point, apostrophes, and bars are kept as they are", () => {
  const file = at("test/e2e/kanban-x.test.ts", "B6.3: a person's choice | none");
  expect(lineOf("board.md", "B6.3", file)).toBe(
    "| B6.3 | `test/e2e/kanban-x.test.ts`: a person's choice \\| none |",
  );
});

test("text that only looks like a row names none", () => {
  const files = [at("src/board/x.test.ts", "error G3: x"), at("src/board/y.test.ts", "see G3, and this: x")];
  expect(lineOf("board.md", "G3", ...files)).toBe("| G3 | no test names it yet |");
});

test("a row without a test has its reason", () => {
  expect(lineOf("board.md", "G39")).toContain("dashboard");
});
