import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { boardSchemaName } from "../../src/board/board-slug.ts";
import type { Comment, Run, Task } from "../../src/board/task.ts";
import { TRANSITIONS } from "../../src/board/transitions.ts";
import { type HermesOptions, tempHome } from "../support/hermes.ts";
import { describeWith } from "../support/services.ts";

type Home = Awaited<ReturnType<typeof tempHome>>;
const LONG = { timeout: 600_000 };

/** Runs `hermes kanban … --json`, which must succeed, and returns its parsed output. */
function kanbanOf(home: Home, env: Record<string, string> = {}) {
  return async <Value = Task>(args: readonly string[], options: HermesOptions = {}): Promise<Value> => {
    const run = await home.hermes(["kanban", ...args, "--json"], {
      env: { USER: "alice", ...env },
      ...options,
    });
    expect(run, `${args.join(" ")}\n${run.stderr}`).toMatchObject({ exitCode: 0 });
    return run.json<Value>();
  };
}

/** Uses every verb once and checks its output. */
async function walk(kanban: ReturnType<typeof kanbanOf>): Promise<void> {
  const design = await kanban<Task & { created: boolean }>([
    "create",
    "Design",
    "--priority",
    "5",
    "--body",
    "why",
  ]);
  expect(design).toMatchObject({
    title: "Design",
    status: "ready",
    priority: 5,
    created: true,
    created_by: "alice",
  });
  const build = await kanban([
    "create",
    "Build",
    "--parent",
    design.id,
    "--assignee",
    "Coder",
    "--max-runtime",
    "2h",
  ]);
  expect(build).toMatchObject({ status: "todo", assignee: "coder", max_runtime_seconds: 7_200 });

  expect(await kanban(["link", design.id, build.id])).toMatchObject({ id: build.id, changed: false });
  expect(await kanban(["unlink", design.id, build.id])).toMatchObject({
    id: build.id,
    changed: true,
    status: "ready",
  });
  expect(await kanban(["link", design.id, build.id])).toMatchObject({ demoted: true, status: "todo" });
  expect(await kanban(["assign", build.id, "none"])).toMatchObject({ id: build.id, assignee: null });
  expect(await kanban(["edit", build.id, "--title", "Build it", "--priority", "-2"])).toMatchObject({
    id: build.id,
    title: "Build it",
    priority: -2,
  });
  expect(
    await kanban<Task & { comment: Comment }>(["comment", build.id, "mind", "the", "gap"]),
  ).toMatchObject({
    id: build.id,
    comment: { author: "alice", body: "mind the gap" },
  });
  expect(await kanban(["hold", build.id])).toMatchObject({ id: build.id, hold: true });
  expect(await kanban(["hold", "--off", build.id])).toMatchObject({ id: build.id, hold: false });

  const claimed = await kanban<Task & { run: Run; workspace: { path: string } }>([
    "claim",
    design.id,
    "--ttl",
    "30m",
  ]);
  expect(claimed).toMatchObject({
    id: design.id,
    status: "running",
    run: { lease_ms: 1_800_000, outcome: null },
  });
  expect((await stat(claimed.workspace.path)).isDirectory()).toBe(true);
  expect(JSON.stringify(claimed)).not.toMatch(/"(lease_)?token"/);
  expect(await kanban(["release", design.id, "--reason", "lunch"])).toMatchObject({
    id: design.id,
    status: "ready",
  });
  expect(await kanban(["block", design.id, "--kind", "needs_input", "which", "one?"])).toMatchObject({
    id: design.id,
    status: "blocked",
    block_kind: "needs_input",
  });
  expect(await kanban(["unblock", design.id, "--reason", "this one"])).toMatchObject({ status: "ready" });
  expect(await kanban(["schedule", design.id, "--at", "2099-01-31T09:30:00Z", "later"])).toMatchObject({
    status: "scheduled",
    scheduled_at: Date.UTC(2099, 0, 31, 9, 30),
  });
  expect(await kanban(["unblock", design.id])).toMatchObject({ status: "ready", scheduled_at: null });
  expect(
    await kanban([
      "complete",
      design.id,
      "--summary",
      "drawn",
      "--metadata",
      '{"pages":3}',
      "--result",
      "ok",
    ]),
  ).toMatchObject({ id: design.id, status: "done", result: "ok" });
  expect(await kanban(["edit", design.id, "--result", "better"])).toMatchObject({ result: "better" });
  expect(await kanban<Run[]>(["runs", design.id])).toMatchObject([
    { outcome: "released", error: "lunch" },
    { outcome: "completed", summary: "drawn", metadata: { pages: 3 } },
  ]);

  expect(await kanban<{ task: Task }>(["show", build.id])).toMatchObject({
    task: { id: build.id, status: "ready" },
    parents: [design.id],
    comments: [{ body: "mind the gap" }],
  });
  expect(await kanban(["context", build.id])).toMatchObject({
    parents: [{ taskId: design.id, summary: "drawn" }],
  });
  expect((await kanban<Task[]>(["list"])).map(({ id }) => id)).toEqual([design.id, build.id]);
  expect(await kanban(["list", "--status", "ready", "--assignee", "-"])).toMatchObject([{ id: build.id }]);
  expect(await kanban(["board"])).toMatchObject({ board: { paused: false } });
  expect(await kanban(["stats"])).toMatchObject({ by_status: { done: 1, ready: 1 }, by_assignee: { "": 1 } });
  expect(await kanban(["assignees"])).toEqual([{ name: "default", on_disk: true, counts: {} }]);
  expect(await kanban(["diagnostics", "--task", build.id])).toEqual([]);

  expect(await kanban(["block", build.id, "no"])).toMatchObject({ status: "blocked" });
  expect(await kanban(["promote", build.id, "--dry-run"])).toMatchObject({
    status: "blocked",
    would_be: "ready",
  });
  expect(await kanban(["promote", build.id])).toMatchObject({ id: build.id, status: "ready" });
  expect(await kanban(["pause"])).toMatchObject({ paused: true, changed: true });
  expect(await kanban(["resume"])).toMatchObject({ paused: false, changed: true });
  expect(await kanban(["archive", build.id])).toMatchObject({ id: build.id, status: "archived" });
  expect(await kanban(["archive", "--rm", build.id])).toEqual({ id: build.id, deleted: true });
  expect(await kanban(["archive", design.id])).toMatchObject({ status: "archived" });
  expect(await kanban(["purge", design.id])).toEqual({ id: design.id, deleted: true });
  expect(await kanban(["list", "--archived"])).toEqual([]);
  expect(await kanban(["gc", "--event-retention-days", "1"])).toMatchObject({ events: 0 });
  expect(await kanban(["repair"])).toMatchObject({ ok: true, left: [] });
}

test("D1: every verb does its work and prints the task as JSON", LONG, async () => {
  await using home = await tempHome();
  const kanban = kanbanOf(home);
  expect(await kanban(["init"])).toEqual({
    board: "default",
    path: join(home.path, "board.sqlite"),
    profiles: ["default"],
  });
  await walk(kanban);
});

describeWith("postgres", "a board on a PostgreSQL server", ({ url }) => {
  test(
    "takes the same commands, is listed, and is kept under another name when it is removed",
    LONG,
    async () => {
      await using home = await tempHome();
      const slug = `e2e-${randomBytes(6).toString("hex")}`;
      const env = { HERMES_KANBAN_DATABASE_URL: url };
      const schemas = [boardSchemaName(slug)];
      try {
        const unknown = await home.hermes(["kanban", "--board", slug, "list"], { env });
        expect(unknown).toMatchObject({
          exitCode: 1,
          stderr: expect.stringContaining(`kanban boards create ${slug}`),
        });
        expect(await kanbanOf(home, env)(["boards", "create", slug])).toMatchObject({ slug, created: true });
        await walk(kanbanOf(home, { ...env, HERMES_KANBAN_BOARD: slug }));
        const boards = await kanbanOf(home, env)<{ slug: string }[]>(["boards", "list"]);
        expect(boards.map((board) => board.slug)).toContain(slug);
        const removed = await kanbanOf(home, env)<{ kept_in: string }>(["boards", "rm", slug]);
        schemas.push(removed.kept_in);
        const left = await kanbanOf(
          home,
          env,
        )<{ boards: { slug: string }[]; removed: string[] }>(["boards", "list", "--all"]);
        expect(left.boards.map((board) => board.slug)).not.toContain(slug);
        expect(left.removed).toContain(removed.kept_in);
      } finally {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        for (const schema of schemas) await client.query(`drop schema if exists "${schema}" cascade`);
        await client.end();
      }
    },
  );
});

test("D1: a body comes from a file or from standard input, and not from both", LONG, async () => {
  await using home = await tempHome();
  const kanban = kanbanOf(home);
  const file = join(home.folder, "body.md");
  await writeFile(file, "from a file\n");
  expect(await kanban(["create", "a", "--body-file", file])).toMatchObject({ body: "from a file\n" });
  const piped = await kanban(["create", "b", "--body-file", "-"], { stdin: "piped ✓" });
  expect(piped).toMatchObject({ body: "piped ✓" });
  expect(await kanban(["edit", piped.id, "--body-file", "-"], { stdin: "again" })).toMatchObject({
    body: "again",
  });
  const both = await home.hermes(["kanban", "create", "c", "--body", "x", "--body-file", file]);
  expect(both).toMatchObject({
    exitCode: 2,
    stdout: "",
    stderr: expect.stringContaining("cannot be used with"),
  });
  const gone = await home.hermes(["kanban", "create", "c", "--body-file", join(home.folder, "nope")]);
  expect(gone).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("Cannot read") });
});

test("D1: a task keeps all fields that it was created with", LONG, async () => {
  await using home = await tempHome();
  const kanban = kanbanOf(home);
  const repository = join(home.folder, "repository");
  spawnSync("git", ["init", "-q", repository]);
  const args = `--workspace worktree:${repository} --branch fix --project p1 --tenant acme --max-retries 3`;
  const more = "--model big --provider openrouter --created-by bob --hold";
  const task = await kanban(["create", "Two", "words", ...args.split(" "), ...more.split(" ")]);
  expect(task).toMatchObject({
    title: "Two words",
    workspace_kind: "worktree",
    workspace_path: repository,
    branch_name: "fix",
    project_id: "p1",
    tenant: "acme",
    max_retries: 3,
    model_override: "big",
    provider_override: "openrouter",
    created_by: "bob",
    hold: true,
  });
  expect(await kanban(["create", "child", "--parent", task.id])).toMatchObject({
    tenant: "acme",
    status: "todo",
  });
  expect(await kanban(["create", "t", "--triage"])).toMatchObject({ status: "triage" });
  expect(await kanban(["create", "b", "--initial-status", "blocked"])).toMatchObject({ status: "blocked" });
  expect(await kanban(["create", "s", "--scheduled-at", "2099-01-31"])).toMatchObject({
    status: "scheduled",
  });
  const times = [];
  for (const text of ["300", "90s", "30m", "1d"])
    times.push((await kanban(["create", "x", "--max-runtime", text])).max_runtime_seconds);
  expect(times).toEqual([300, 90, 1_800, 86_400]);
});

test("D1: of several tasks, a refused one does not prevent the others", LONG, async () => {
  await using home = await tempHome();
  const kanban = kanbanOf(home);
  const [a, b] = [await kanban(["create", "a"]), await kanban(["create", "b"])];
  const args = ["kanban", "complete", a.id, "t_000000000000", b.id, "--result", "all"];
  const run = await home.hermes([...args, "--json"]);
  expect(run.exitCode).toBe(1);
  expect(run.json()).toMatchObject([
    { id: a.id, status: "done", result: "all" },
    { id: "t_000000000000", error: { code: "task-not-found" } },
    { id: b.id, status: "done" },
  ]);
  const wrong = await home.hermes(["kanban", "complete", a.id, b.id, "--summary", "x"]);
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("apply to a single task") });
  const [c, d] = [await kanban(["create", "c"]), await kanban(["create", "d"])];
  expect(await kanban(["block", c.id, "wait", "--ids", d.id])).toMatchObject([
    { id: c.id, status: "blocked" },
    { id: d.id, status: "blocked" },
  ]);
  expect(await kanban(["unblock", c.id, d.id])).toMatchObject([{ status: "ready" }, { status: "ready" }]);
});

test("D1: files are attached, listed and removed", LONG, async () => {
  await using home = await tempHome();
  const kanban = kanbanOf(home);
  const { id } = await kanban(["create", "a"]);
  const file = join(home.folder, "notes.txt");
  await writeFile(file, "hello");
  type Attached = Task & { attachment: { id: number } };
  const { attachment } = await kanban<Attached>(["attach", id, file, "--content-type", "text/plain"]);
  expect(attachment).toMatchObject({
    filename: "notes.txt",
    size: 5,
    content_type: "text/plain",
    uploaded_by: "alice",
  });
  expect(await kanban(["attach", id, file])).toMatchObject({ id, attachment: { filename: "notes (1).txt" } });
  expect(await kanban(["attachments", id])).toHaveLength(2);
  expect(await kanban(["attach-rm", id, String(attachment.id)])).toMatchObject({
    id,
    removed: attachment.id,
  });
  expect(await kanban(["attachments", id])).toMatchObject([{ filename: "notes (1).txt" }]);
  const twice = await home.hermes(["kanban", "attach-rm", id, String(attachment.id)]);
  expect(twice).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("has no file") });
  await kanban(["archive", id]);
  await kanban(["purge", id]);
  // New files may still be in use, so none of these is removed yet.
  expect(await kanban(["gc"])).toMatchObject({ files_moved_aside: 0, files_deleted: 0 });
  expect(await kanban(["gc", "--file-retention-days", "0"])).toMatchObject({ files_deleted: 1 });
  const lost = await home.hermes(["kanban", "attach", "t_none", file]);
  expect(lost).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("no task") });
});

test("in a pipe the board is shown without colours and without truncation", LONG, async () => {
  await using home = await tempHome();
  const kanban = kanbanOf(home);
  expect((await home.hermes(["kanban"])).stdout).toContain("There are no tasks yet");
  const title = `A title ${"that is rather long ".repeat(8)}`.trim();
  const { id } = await kanban(["create", title, "--assignee", "coder", "--priority", "3"]);
  await kanban(["complete", (await kanban(["create", "Old"])).id]);
  const { stdout } = await home.hermes(["kanban"], { env: { COLUMNS: "200" } });
  expect(stdout).toContain(`READY 1\n  ${id}  #1  ${title}  p3 @coder\n`);
  expect(stdout).toContain("DONE 1\n");
  expect(stdout).not.toContain("\u001b");
});

test("help-moves shows the table of moves that the store uses, in lines of 80 columns", LONG, async () => {
  await using home = await tempHome();
  expect((await home.hermes(["kanban", "help-moves", "--json"])).json()).toEqual(TRANSITIONS);
  const { stdout } = await home.hermes(["kanban", "help-moves"]);
  const words = stdout.replace(/\s+/g, " ");
  for (const { verbs, rule } of Object.values(TRANSITIONS)) {
    expect(`\n${stdout}`).toContain(`\n${verbs.length === 0 ? "automatic" : verbs.join(", ")}: `);
    expect(words).toContain(rule);
  }
  for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
});
