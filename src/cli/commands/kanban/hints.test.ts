import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openKanbanCli } from "../../../../test/support/kanban-line.ts";
import type { Task } from "../../../board/task.ts";
import { loadSqlite } from "../../../lib/sqlite/sqlite.ts";

test("a refusal comes with a hint", async () => {
  await using cli = await openKanbanCli();
  await cli.ok(["create", "one"]);
  await cli.ok(["create", "two", "--parent", "1"]);
  await cli.ok(["create", "three"]);
  await cli.ok(["complete", "3"]);
  const refusals: readonly (readonly [readonly string[], RegExp])[] = [
    [["link", "1", "1"], /cannot wait for itself\. Name two tasks/],
    [["block", "3", "why"], /^#3 is done; "block" .* Reopen it first: `hermes kanban reopen 3`\.$/],
    [["complete", "2"], /^#2 is todo; "complete" .* `hermes kanban why 2` explains what it waits for\.$/],
    [["search", " ", ""], /^Nothing to search for was given\. See `hermes kanban search --help`\.$/],
    [["purge", "1"], /only archived tasks can be purged\. Archive it first: `hermes kanban archive 1`\.$/],
    [
      ["edit", "3", "--title", "new"],
      /^#3 is done; its title .* Reopen it first: `hermes kanban reopen 3`\.$/,
    ],
    [["attach", "1", "https://example.com/a.png"], /is a URL, not a file\. Download the file first/],
    [
      ["create", "x", "--workspace", "worktree"],
      /needs a repository.* Write worktree:PATH, or .*set-default-workdir/,
    ],
    [["--json", "list"], /The verb list must come before its options\. Write `hermes kanban list --json`/],
    [["--limit", "3", "list"], /The verb list must come before its options\. Write `hermes kanban list …`/],
  ];
  for (const [words, expected] of refusals) {
    const { failure } = await cli.run(words);
    expect(`${failure?.message} ${failure?.hint}`, words.join(" ")).toMatch(expected);
  }
  expect(JSON.parse(await cli.ok(["--json"]))).toMatchObject({ board: { slug: "default" } });
  expect(await cli.json<object[]>(["list"])).toHaveLength(3);
});

test("assign and reassign note an assignee that is not a profile", async () => {
  await using cli = await openKanbanCli();
  await cli.ok(["create", "one"]);
  for (const words of [
    ["assign", "1", "defalt"],
    ["reassign", "1", "defaul"],
    ["reassign", "1", "efault", "--reclaim"],
  ])
    expect((await cli.run(words)).stderr, words.join(" ")).toMatch(
      /^hermes: note: there is no profile \w+ in this home; .* Did you mean default\?$/m,
    );
});

test("dispatch-status shows whether each dispatcher leads, runs or has ended", async () => {
  await using cli = await openKanbanCli();
  await cli.ok(["dispatch"]);
  const stateOf = async () =>
    / {2}STATE {2}.*\n\d+ +\S+ +\S+ \S+ +(\w+)$/.exec((await cli.ok(["dispatch-status"])).trimEnd())?.[1];
  expect(await stateOf()).toBe("runs"); // a single pass releases its lease
  const Sqlite = await loadSqlite();
  const change = (sql: string) => {
    const file = new Sqlite(join(cli.home, "board.sqlite"));
    file.exec(sql);
    file.close();
  };
  change("update dispatch_lease set expires_at = 9999999999999");
  expect(await stateOf()).toBe("leads");
});

test("in a pipe the board shows ids and numbers, reasons follow their titles, and multi-line comments are indented", async () => {
  await using cli = await openKanbanCli();
  const long =
    "a title that is longer than anybody would want to read in one line of a list of tasks, and goes on";
  await cli.ok(["create", long]);
  await cli.ok(["create", "short", "--parent", "1"]);
  await cli.ok(["comment", "1", "first line\nsecond line"]);
  expect(await cli.ok([])).toMatch(/^ {2}t_\w{12} {2}#2 {2}short$/m);
  const listed = (await cli.ok(["list"])).split("\n");
  expect(listed.find((text) => text.includes(long))).toMatch(/unassigned$/);
  expect(listed.find((text) => text.includes("short"))).toMatch(/^t_.{1,110}after #1$/);
  expect(await cli.ok(["show", "1"])).toMatch(/: first line\n {4}second line\n/);
});

test("help, why and help-moves say that a person must review a task, and name the command", async () => {
  await using cli = await openKanbanCli();
  await mkdir(join(cli.home, "profiles", "rev"), { recursive: true, mode: 0o700 });
  await cli.ok(["create", "work", "--assignee", "coder"]);
  await cli.ok(["claim", "1"]);
  const { stderr } = await cli.run(["request-review", "1", "--reviewer", "rev"]);
  expect(stderr).toMatch(/No dispatcher starts a reviewer.*`hermes kanban approve 1`/s);
  const why = await cli.json<{ text: string; release: string }>(["why", "1"]);
  expect(why.text).toContain("no dispatcher starts a reviewer");
  expect(why.release).toContain("hermes kanban approve 1");
  expect(await cli.ok(["help-moves"])).toMatch(/request-review: .*\n.*No\s+dispatcher\s+starts/);
});

test.each([
  "2027-02-30",
  "2027-02-29T09:00",
  "2027-04-31T09:00:00Z",
  "2027-13-01",
  "2027-00-10",
  "2027-01-00",
])("%s does not exist and is refused", async (date) => {
  await using cli = await openKanbanCli();
  const { failure } = await cli.run(["create", "x", "--scheduled-at", date]);
  expect(failure?.message).toContain("Give a time");
  expect(await cli.json(["create", "x", "--scheduled-at", "2028-02-29"])).toMatchObject({
    status: "scheduled",
  });
});

test("why names the person who claimed a task by hand, and no host", async () => {
  await using cli = await openKanbanCli();
  await cli.ok(["create", "by hand", "--assignee", "coder"]);
  await cli.ok(["claim", "1"]);
  const why = await cli.json<{ text: string; release: string }>(["why", "1"]);
  expect(why).toMatchObject({
    reason: "running",
    text: expect.stringMatching(/^alice has claimed it until .*\.$/),
    release: "hermes kanban release 1",
  });
  await cli.ok(why.release.split(" ").slice(2));
});

test("a board with a missing table is reported as damaged by show and repair, which do not advise an export", async () => {
  for (const table of ["comment", "link", "subscription"]) {
    await using cli = await openKanbanCli();
    await cli.ok(["create", "x"]);
    const Sqlite = await loadSqlite();
    const connection = new Sqlite(join(cli.home, "board.sqlite"));
    connection.pragma("foreign_keys = off");
    connection.exec(`drop table ${table}`);
    connection.close();
    for (const words of [["show", "1"], ["repair"], ["export"]]) {
      const { failure, stdout } = await cli.run(words);
      if (table === "subscription" && words[0] === "show") continue;
      expect(failure, `${words[0]} without ${table}`).toMatchObject({
        code: "database-damaged",
        hint: expect.stringContaining("backup"),
      });
      expect(`${stdout}${failure?.message}`).toContain(table);
      expect(failure?.hint).not.toContain("kanban export");
    }
  }
});

test("export to an existing file is refused with a hint", async () => {
  await using cli = await openKanbanCli();
  const file = join(cli.folder, "board.jsonl");
  await cli.ok(["export", "-o", file]);
  const { failure } = await cli.run(["export", "-o", file]);
  expect(failure).toMatchObject({
    code: "file-unwritable",
    hint: "Choose another file, or remove this one first.",
  });
});

test("log --json prints the log with its task and run", async () => {
  await using cli = await openKanbanCli();
  const { id } = await cli.json<Task>(["create", "x"]);
  const folder = join(cli.home, "kanban", "logs", id);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "7.log"), "first\nsecond\n");
  expect(await cli.json(["log", "1"])).toEqual({
    task_id: id,
    run_id: 7,
    path: join(folder, "7.log"),
    text: "first\nsecond\n",
  });
  expect(await cli.json(["log", "1", "--tail", "7"])).toMatchObject({ text: "second\n" });
  expect((await cli.run(["log", "1", "--json", "--follow"])).failure).toMatchObject({ code: "usage-wrong" });
});
