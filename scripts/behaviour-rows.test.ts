import { expect, test } from "vitest";
import {
  type Behaviour,
  behaviourRowsPage,
  findRowProblems,
  parseTables,
  type TestFile,
} from "./behaviour-rows.ts";

const table = (...rows: readonly string[]) =>
  parseTables(
    `# Title\n\n## A. Section\n\n| row | behaviour |\n|---|---|\n${rows.map((row) => `| ${row} | ${row} holds. |`).join("\n")}\n`,
  );

const BEHAVIOUR: Behaviour = {
  environments: table("C2", "C29", "E4"),
  board: table("A8", "B6.3", "G3", "G29"),
  agent: table("C2", "D"),
  chat: [],
  api: [],
  gateway: [],
  dashboard: [],
};

/** What the page shows as the tests of a row of a table. */
function testsOf(name: keyof Behaviour, row: string, ...files: readonly TestFile[]): string | undefined {
  const part = behaviourRowsPage(files, BEHAVIOUR)
    .split(/^## /m)
    .find((text) => text.startsWith(name));
  const line = part?.split("\n").find((text) => text.startsWith(`| ${row} | ${row} holds. |`));
  return line?.slice(`| ${row} | ${row} holds. | `.length, -" |".length);
}

const at = (path: string, title: string): TestFile => ({
  path,
  text: `  it(${JSON.stringify(title)}, () => {`,
});

test("the folder of a test decides which table its row is from", () => {
  const files = ["src/environments/x.test.ts", "src/agent/x.test.ts"].map((path) =>
    at(path, "C2: a thing holds"),
  );
  expect(testsOf("environments", "C2", ...files)).toBe("`src/environments/x.test.ts`: a thing holds");
  expect(testsOf("agent", "C2", ...files)).toBe("`src/agent/x.test.ts`: a thing holds");
});

test("a word before a row names another table for that row and for the rows after it", () => {
  const file = at("src/lib/x.test.ts", "board A8, G29: both hold");
  expect(testsOf("board", "A8", file)).toBe("`src/lib/x.test.ts`: both hold");
  expect(testsOf("board", "G29", file)).toBe("`src/lib/x.test.ts`: both hold");
  expect(testsOf("environments", "C29", file)).toBe("–");
});

test("the test of a tool names rows of the agent, and otherwise of the environments", () => {
  const file = at("src/tools/x.test.ts", "C2, E4: it holds");
  expect(testsOf("agent", "C2", file)).toContain("it holds");
  expect(testsOf("environments", "E4", file)).toContain("it holds");
  expect(testsOf("environments", "C2", file)).toBe("–");
});

test("rows with a dot, apostrophes and vertical bars are shown unchanged", () => {
  const file = at("test/e2e/kanban-x.test.ts", "B6.3: a person's choice | none");
  expect(testsOf("board", "B6.3", file)).toBe("`test/e2e/kanban-x.test.ts`: a person's choice \\| none");
});

test("text that only looks like a row names no row", () => {
  const files = ["error G3: x", "see G3, and this: x", "Z: x"].map((title) =>
    at("src/board/x.test.ts", title),
  );
  expect(testsOf("board", "G3", ...files)).toBe("–");
  expect(findRowProblems(files, BEHAVIOUR).filter((problem) => problem.startsWith("src/"))).toEqual([]);
});

test("a row that a test names but no table explains is a problem", () => {
  const files = [at("src/board/x.test.ts", "G3, G99: x"), at("src/agent/x.test.ts", "board C2: x")];
  expect(findRowProblems(files, BEHAVIOUR).filter((problem) => problem.startsWith("src/"))).toEqual([
    'src/board/x.test.ts: "board G99" is explained by no table of docs/behaviour',
    'src/agent/x.test.ts: "board C2" is explained by no table of docs/behaviour',
  ]);
});

test("a row has a test or a reason for having none, and not both", () => {
  const page = (sentence: string) => parseTables(`## A\n\n| A1 | ${sentence} |\n`);
  const problems = (sentence: string, ...files: readonly TestFile[]) =>
    findRowProblems(files, {
      environments: [],
      agent: [],
      chat: [],
      api: [],
      gateway: [],
      dashboard: [],
      board: page(sentence),
    });
  const proof = at("src/board/x.test.ts", "A1: x");
  expect(problems("It holds.", proof)).toEqual([]);
  expect(problems("It holds. No test: not built yet.")).toEqual([]);
  expect(problems("It holds.")).toEqual([
    'docs/behaviour: "board A1" has neither a test nor a reason (No test: …)',
  ]);
  expect(problems("It holds. No test: not built yet.", proof)).toEqual([
    'docs/behaviour: "board A1" has a test and a reason for having none',
  ]);
});
