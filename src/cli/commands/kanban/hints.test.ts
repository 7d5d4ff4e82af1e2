import { expect, test } from "vitest";
import { openKanbanLine } from "../../../../test/support/kanban-line.ts";

test("a refusal says what to do next", async () => {
  await using line = await openKanbanLine();
  await line.ok(["create", "one"]);
  const refusals: readonly (readonly [readonly string[], RegExp])[] = [
    [["link", "1", "1"], /cannot wait for itself\. Name two tasks/],
    [["attach", "1", "https://example.com/a.png"], /is an address, not a file\. Fetch the file first/],
    [
      ["create", "x", "--workspace", "worktree"],
      /needs a repository.* Write worktree:PATH, or .*set-default-workdir/,
    ],
    [["--json", "list"], /The verb list stands before its options\. Write `hermes kanban list --json`/],
    [["--limit", "3", "list"], /The verb list stands before its options\. Write `hermes kanban list …`/],
  ];
  for (const [words, said] of refusals) {
    const { failure } = await line.run(words);
    expect(`${failure?.message} ${failure?.hint}`, words.join(" ")).toMatch(said);
  }
  expect(JSON.parse(await line.ok(["--json"]))).toMatchObject({ board: { slug: "default" } });
  expect(await line.json<object[]>(["list"])).toHaveLength(1);
});

test("in a pipe the board has ids and numbers, reasons stay near their titles, and lines of one text stand together", async () => {
  await using line = await openKanbanLine();
  const long =
    "a title that is longer than anybody would want to read in one line of a list of tasks, and goes on";
  await line.ok(["create", long]);
  await line.ok(["create", "short", "--parent", "1"]);
  await line.ok(["comment", "1", "first line\nsecond line"]);
  expect(await line.ok([])).toMatch(/^ {2}t_\w{12} {2}#2 {2}short$/m);
  const listed = (await line.ok(["list"])).split("\n");
  expect(listed.find((text) => text.includes(long))).toMatch(/nobody's$/);
  expect(listed.find((text) => text.includes("short"))).toMatch(/^t_.{1,110}after #1$/);
  expect(await line.ok(["show", "1"])).toMatch(/: first line\n {4}second line\n/);
});
