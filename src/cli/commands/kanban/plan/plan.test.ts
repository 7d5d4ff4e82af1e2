import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type KanbanCli, openKanbanCli } from "../../../../../test/support/kanban-line.ts";
import type { Task } from "../../../../board/task.ts";

const MARKDOWN = `# The shop

Some words about it.

- Design the API @architect
  With all errors that a caller can get.

  \`\`\`
  - not a task
  \`\`\`
  - Build the server @coder !5
    1. Write the tests @tester
    2. Run them on every push @tester
  - Write the manual @writer
- Release @coder (after: Build the server, Write the manual)
`;

const YAML = `
tenant: shop
assignee: coder
tasks:
  - title: Design
    key: d
    assignee: architect
    tasks:
      - title: Build
        max_runtime: 30m
        workspace: scratch
  - title: Release
    after: [Build, "#1"]
    priority: 3
`;

async function write(cli: KanbanCli, name: string, text: string): Promise<string> {
  const path = join(cli.folder, name);
  await writeFile(path, text);
  return path;
}

describe("kanban plan", () => {
  test("creates the graph of a Markdown list and prints it as a tree of 80 columns", async () => {
    await using cli = await openKanbanCli();
    const file = await write(cli, "shop.md", MARKDOWN);
    expect(await cli.ok(["plan", file, "--dry-run"], { columns: 80 })).not.toContain("#");
    expect(await cli.json(["list"])).toEqual([]);
    expect(await cli.ok(["plan", file], { columns: 80 })).toBe(`#1 Design the API  @architect
├─ #2 Build the server  @coder !5
│  └─ #3 Write the tests  @tester
│     └─ #4 Run them on every push  @tester
└─ #5 Write the manual  @writer
   └─ #6 Release  @coder (also after #2)
`);
    const { task, children } = await cli.json<{ task: Task; children: string[] }>(["show", "1"]);
    expect(task).toMatchObject({ status: "ready", body: expect.stringContaining("- not a task") });
    expect(children).toHaveLength(2);
    expect(await cli.json(["show", "6"])).toMatchObject({
      task: { status: "todo" },
      parents: [{}, {}].map(() => expect.any(String)),
    });
  }, 60_000);

  test("creates the graph of a YAML file, with common fields and dependencies on existing tasks", async () => {
    await using cli = await openKanbanCli();
    const { id } = await cli.json<Task>(["create", "Before"]);
    const file = await write(cli, "shop.yaml", YAML);
    const made = await cli.json<(Task & { key: string })[]>(["plan", file]);
    expect(made).toMatchObject([
      { key: "d", title: "Design", assignee: "architect", tenant: "shop", status: "ready" },
      { key: "Build", assignee: "coder", max_runtime_seconds: 1_800, status: "todo" },
      { key: "Release", priority: 3, status: "todo" },
    ]);
    const release = await cli.json<{ parents: string[] }>(["show", made[2]?.id ?? ""]);
    expect(release.parents).toEqual([id, made[1]?.id]);
  }, 60_000);

  test.each([
    ["a task without a title", "tasks:\n- body: x\n", /line 2: title: a task needs a title/],
    [
      "an unknown key",
      "tasks:\n- title: a\n  assigne: x\n",
      /line 3: there is no key "assigne"; did you mean assignee\?/,
    ],
    [
      "an unknown key for all",
      "asignee: x\ntasks: [a, b]\n",
      /^[^\n]*\n?.*- line 1: there is no key "asignee"[^-]*$/,
    ],
    [
      "a bad value",
      "tasks:\n- title: a\n  max_runtime: soon\n",
      /line 3 \(a\): max_runtime: Give a duration/,
    ],
    ["two tasks with the same name", "tasks: [a, a]\n", /"a" occurs twice in the plan/],
    [
      "a cycle",
      "tasks:\n- title: a\n  after: b\n- title: b\n  after: a\n",
      /waits for itself: "a" after "b"/,
    ],
    [
      "an unknown dependency",
      "tasks:\n- title: a\n- title: b\n  after: zebra\n",
      /line 4: after: There is no task "zebra"/,
    ],
    [
      "tasks that contain themselves",
      "tasks: &all\n- title: a\n  tasks: [b, { title: c, tasks: *all }]\n",
      /- line 3: a list of tasks contains itself/,
    ],
    [
      "tasks nested too deeply",
      `tasks: ${"[{ title: a, tasks: ".repeat(5_000)}`,
      /- it is nested too deeply/,
    ],
    ["no tasks", "tasks: []\n", /it has no tasks/],
    ["broken YAML", "tasks: [\n", /Flow sequence|flow/i],
    [
      "a provider without a model, found by the board only",
      "tasks:\n- a\n- title: b\n  provider: x\n",
      /line 3 \(b\): A provider needs a model/,
    ],
    [
      "a control character",
      'tasks:\n- a\n- "b\\ac"\n',
      /line 3 .*: The title has line breaks or control characters/,
    ],
    [
      "an invalid branch name",
      "tasks:\n- title: a\n  workspace: worktree:/tmp\n  branch: a..b\n",
      /line 2 \(a\): "a\.\.b" is not a valid branch name/,
    ],
    [
      "two tasks with one idempotency key",
      "tasks:\n- title: a\n  idempotency_key: k\n- title: b\n  idempotency_key: k\n",
      /line 3 and line 5: idempotency_key: two tasks have "k"/,
    ],
    [
      "a worktree without a repository",
      "tasks:\n- a\n- title: b\n  workspace: worktree\n",
      /line 3 \(b\): A worktree needs a repository/,
    ],
  ])("refuses %s and writes nothing, with and without --dry-run", async (_, text, problem) => {
    await using cli = await openKanbanCli();
    const file = await write(cli, "p.yaml", text);
    for (const words of [
      ["plan", file, "--dry-run"],
      ["plan", file],
    ]) {
      const { failure } = await cli.run(words);
      expect(`${failure?.message} ${failure?.hint}`, words.join(" ")).toMatch(problem);
    }
    expect(await cli.json(["list"])).toEqual([]);
  });

  test("a chain of thousands of tasks is sorted and drawn, in either order, and is never indented out of sight", async () => {
    await using cli = await openKanbanCli();
    const count = 12_000;
    const tasks = Array.from({ length: count }, (_, index) => ({
      title: `Task ${index}`,
      ...(index > 0 && { after: [`Task ${index - 1}`] }),
    }));
    for (const [name, plan] of [
      ["up.yaml", tasks],
      ["down.yaml", tasks.toReversed()],
    ] as const) {
      const drawn = await cli.ok(
        ["plan", await write(cli, name, JSON.stringify({ tasks: plan })), "--dry-run"],
        { columns: 80 },
      );
      const lines = drawn.trimEnd().split("\n");
      expect(lines).toHaveLength(count);
      for (const text of lines) expect(text.length).toBeLessThanOrEqual(80);
      expect(lines.join("\n")).toMatch(/^Task \d+ {2}\(after Task \d+\)$/m);
    }
    const cycle = await write(cli, "cycle.md", "- A (after: B)\n- B (after: A)\n");
    expect((await cli.run(["plan", cycle])).failure).toMatchObject({
      code: "task-link-cycle",
      hint: "Remove one of these dependencies from the plan.",
    });
  }, 120_000);

  test("a byte order mark and tabs, alone or mixed with spaces, indent a Markdown plan as in other programs", async () => {
    await using cli = await openKanbanCli();
    const tree = "One\n├─ Two\n│  └─ Three\n└─ Four\n";
    for (const text of [
      "- One\n\t- Two\n\t\t- Three\n\t- Four\n",
      "\uFEFF- One\r\n\t- Two\r\n\t\t- Three\r\n\t- Four\r\n",
      "- One\n    - Two\n\t\t- Three\n\t- Four\n",
      "- One\n  - Two\n \t- Three\n  - Four\n",
    ])
      expect(await cli.ok(["plan", await write(cli, "a.md", text), "--dry-run"]), text).toBe(tree);
  });

  test("reports how many tasks it created and how many already existed", async () => {
    await using cli = await openKanbanCli();
    const one = "tasks:\n- title: a\n  idempotency_key: k\n";
    expect((await cli.run(["plan", await write(cli, "p.yaml", one)])).stderr).toContain("Created 1 task.");
    const two = await write(cli, "q.yaml", `${one}- title: b\n`);
    expect((await cli.run(["plan", two, "--dry-run"])).stderr).toContain("2 tasks; nothing was written.");
    expect((await cli.run(["plan", two])).stderr).toContain(
      "Created 1 task; 1 already existed (same idempotency key)",
    );
    expect(await cli.json<object[]>(["list"])).toHaveLength(2);
  });

  test("shortens long titles to the width of the terminal, but not in a pipe", async () => {
    await using cli = await openKanbanCli();
    const file = await write(cli, "p.md", `- ${"wide ".repeat(30)}\n  - ${"deep ".repeat(30)}\n`);
    const tree = await cli.ok(["plan", file, "--dry-run"], { columns: 80 });
    for (const text of tree.split("\n")) expect(text.length, text).toBeLessThanOrEqual(80);
    expect(await cli.ok(["plan", file, "--dry-run"])).toContain("wide ".repeat(30).trimEnd());
  });

  test("accepts names with commas and parentheses, and refuses a second assignee", async () => {
    await using cli = await openKanbanCli();
    const text =
      "- Test, build (all) and ship 1,000\n- Write, too\n- Last (after: Test, build (all) and ship 1,000, Write, too)\n";
    const made = await cli.json<Task[]>(["plan", await write(cli, "p.md", text)]);
    const { parents } = await cli.json<{ parents: string[] }>(["show", made[2]?.id ?? ""]);
    expect(parents).toEqual([made[0]?.id, made[1]?.id]);
    const { failure } = await cli.run(["plan", await write(cli, "q.md", "- a\n- b @one @two\n- c !1 !2\n")]);
    expect(failure?.hint).toMatch(
      /line 2 \(b\): assignee: give one profile\n.*line 3 \(c\): priority: give one/,
    );
  });

  test("lists all problems of a file at once, with their lines", async () => {
    await using cli = await openKanbanCli();
    const { failure } = await cli.run(["plan", await write(cli, "p.md", "- a\n- [x] b\n- [x] c\n")]);
    expect(failure?.hint).toMatch(/line 2 \(b\).*ticked off[\s\S]*line 3 \(c\)/);
  });
});
