import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CommanderError } from "commander";
import { describe, expect, test } from "vitest";
import { openKanbanCli } from "../../../../test/support/kanban-line.ts";
import { runLogPath } from "../../../board/supervisor/log/run-log.ts";
import type { Task } from "../../../board/task.ts";
import { runProcess } from "../../../lib/process/process.ts";
import { loadSqlite } from "../../../lib/sqlite/sqlite.ts";
import { textWidth } from "../../terminal/fit-text.ts";

const COLUMNS = { columns: 80 };
const LONG_REASON = "we need to know which of the two databases is meant, and who of us pays for its disk";

describe("a board in daily use", () => {
  test("every verb that takes a task accepts its number and a prefix of its id", async () => {
    await using cli = await openKanbanCli();
    let help = "";
    const gather = (text: string): void => {
      help += text;
    };
    await cli.run(["--help"], { onPrint: gather }).catch((error: unknown) => {
      if (!(error instanceof CommanderError)) throw error;
    });
    const verbs = [...help.matchAll(/^ {2}([a-z-]+) ((?:<(?:task|tasks\.\.\.|parent|child)> ?)+)(.*)$/gm)];
    expect(verbs.length).toBeGreaterThan(25);
    for (const [, verb = ""] of help.matchAll(/^ {2}([a-z][a-z-]*) /gm)) {
      let page = "";
      const add = (text: string): void => {
        page += text;
      };
      await cli.run([verb, "--help"], { onPrint: add }).catch(() => undefined);
      for (const option of page.split(/\n(?= {2}-)/))
        expect(option.match(/\(default/g)?.length ?? 0, option).toBeLessThanOrEqual(1);
    }
    const more: Readonly<Record<string, readonly string[]>> = {
      "request-review": ["--reviewer", "bob"],
      schedule: ["--at", "2099-01-01"],
      "notify-subscribe": ["--platform", "irc", "--chat-id", "anna"],
      "notify-unsubscribe": ["--platform", "irc", "--chat-id", "anna"],
      edit: ["--title", "x"],
      attach: [join(cli.home, "board.sqlite")],
    };
    for (const [, verb = "", tasks = "", rest = ""] of verbs) {
      const { id, seq } = await cli.json<Task>(["create", verb]);
      const parent = await cli.json<Task>(["create", "parent"]);
      for (const [name, other] of [
        [`#${seq}`, `#${parent.seq}`],
        [id.slice(2, 10), parent.id.slice(0, 10)],
      ]) {
        const named = tasks.includes("child") ? [other ?? "", name ?? ""] : [name ?? ""];
        const others = [...rest.matchAll(/<(\w[\w.]*)>/g)].map(([, word]) =>
          word === "number" ? "1" : "words",
        );
        const signal = AbortSignal.timeout(verb === "tail" ? 500 : 60_000);
        const run = cli.run([verb, ...named, ...(more[verb] ?? others)], { signal });
        const failure = await run.then(
          (ended) => ended.failure,
          (error: unknown) => error,
        );
        expect(failure, `${verb} ${named.join(" ")}`).not.toMatchObject({
          code: expect.stringMatching(/task-not-found|usage-wrong|task-ambiguous/),
        });
      }
    }
  }, 120_000);

  test("a list has one line per task, whatever its texts contain, and fits 80 columns", async () => {
    await using cli = await openKanbanCli();
    const long =
      "設定ファイルの構文解析器を書く and many more words 🚀 than any line of a terminal has room for";
    await cli.ok(["create", long, "--assignee", "a-profile-with-a-long-name"]);
    await cli.ok(["create", "Build it", "--parent", "1", "--assignee", "coder"]);
    await cli.ok(["create", "Ask"]);
    await cli.ok([
      "block",
      "3",
      "which \u001b[31mdatabase shall I use for the sessions of people",
      "who never log out?",
    ]);
    await cli.ok(["comment", "3", "I have seen it"]); // this comment is not the reason for the block
    await cli.ok(["create", "Later", "--scheduled-at", "2099-01-31"]);
    await cli.ok(["create", "Mine"]);
    await cli.ok(["claim", "5"]);
    await cli.ok(["create", "Held", "--hold"]);
    const lines = (await cli.ok(["list"], COLUMNS)).trimEnd().split("\n");
    expect(lines).toHaveLength(7);
    for (const text of lines) expect(textWidth(text), text).toBeLessThanOrEqual(80);
    expect(lines.join("\n")).not.toContain("\u001b");
    expect(lines[2]).toMatch(/#2 {2}todo +\d+s {2}coder +Build it +after #1$/);
    expect(lines[3]).toMatch(/blocked +\d+s +- +Ask +which/);
    expect(lines[4]).toContain("until 2099-01-31");
    expect(lines[5]).toMatch(/running .* Mine +for \d+s$/);
    expect(lines[6]).toMatch(/ready\* .* Held +held$/);
    expect(await cli.ok(["search", "BUILD", "it"], COLUMNS)).toContain("#2  todo");
    expect(await cli.json(["search", "%"])).toEqual([]);
    expect(await cli.json(["search", "never log"])).toMatchObject([{ seq: 3 }]);
  }, 60_000);

  test("a list says why a ready task does not start: its profile does not exist, or a cap is reached", async () => {
    await using cli = await openKanbanCli();
    for (const title of ["Claimed", "Waiting"]) await cli.ok(["create", title, "--assignee", "default"]);
    await cli.ok(["create", "Typo", "--assignee", "defalt"]);
    const reasonOf = async (title: string, env: Readonly<Record<string, string>> = {}) =>
      new RegExp(`${title} *(.*)$`, "m").exec(await cli.ok(["list"], { ...COLUMNS, env }))?.[1];
    expect(await reasonOf("Typo")).toBe("no such profile here");
    expect(await reasonOf("Typo", { HERMES_KANBAN_DISPATCH_PROFILES: '["default"]' })).toBe(
      "not dispatched here",
    );
    const cap = { HERMES_KANBAN_MAX_SPAWN: "1" };
    expect(await reasonOf("Waiting", cap)).toBe("");
    await cli.ok(["claim", "1"]);
    expect(await reasonOf("Waiting")).toBe("");
    expect(await reasonOf("Waiting", cap)).toBe("board is at its cap");
    expect(await reasonOf("Waiting", { HERMES_KANBAN_MAX_IN_PROGRESS: "1" })).toBe("host is at its cap");
    const perProfile = { HERMES_KANBAN_MAX_IN_PROGRESS_PER_PROFILE: "1" };
    expect(await reasonOf("Waiting", perProfile)).toBe("profile is at its cap");
  });

  test("in a pipe create prints the id alone, and in a terminal the number and the title", async () => {
    await using cli = await openKanbanCli();
    expect(await cli.ok(["create", "Fix it"])).toMatch(/^t_[0-9a-f]{12}\n$/);
    expect(await cli.ok(["create", "Fix it"], COLUMNS)).toMatch(
      /^Created #2 Fix it \(ready, t_[0-9a-f]{12}\)\n$/,
    );
  });

  test("why prints titles, local times and a command that works", async () => {
    await using cli = await openKanbanCli();
    await cli.ok(["create", "Design"]);
    await cli.ok(["create", "Build", "--parent", "1"]);
    expect(await cli.ok(["why", "2"])).toMatch(
      /^#2 Build\nIt waits for #1 Design \(ready\)\.\n {2}.*hermes kanban unlink /,
    );
    await cli.ok(["block", "1", "which colour?"]);
    const why = await cli.ok(["why", "1"], COLUMNS);
    expect(why).toContain("which colour?");
    const [, verb = "", id = ""] = /hermes kanban (answer) (\d+) TEXT/.exec(why) ?? [];
    expect((await cli.run([verb, id, "blue"])).stderr).toContain("is ready");
    expect(await cli.json(["show", "1"])).toMatchObject({
      comments: [{}, { author: "alice", body: "blue" }],
    });
    await cli.ok(["schedule", "1", "--at", "2099-01-31T09:30"]);
    expect(await cli.ok(["why", "1"])).toContain("scheduled for 2099-01-31 09:30");
  }, 60_000);

  test("why lists several parents one below the other, wrapped to the width", async () => {
    await using cli = await openKanbanCli();
    await cli.ok(["create", "Design"]);
    await cli.ok(["create", "Measure the load of the server with 200 requests per second for ten minutes"]);
    await cli.ok(["create", "Build", "--parent", "1", "--parent", "2"]);
    expect(await cli.ok(["why", "3"], COLUMNS)).toBe(
      "#3 Build\nIt waits for:\n    #1 Design (ready)\n    #2 Measure the load of the server with 200 requests per second for ten\n      minutes (ready)\n" +
        "  Complete these tasks, or: hermes kanban unlink 1 3\n",
    );
  });

  test("a failed task shows its error without the exit code, when it is retried, and the day of old events", async () => {
    await using cli = await openKanbanCli();
    await cli.ok(["create", "Build", "--assignee", "default"]);
    await cli.ok(["claim", "1"]);
    const Sqlite = await loadSqlite();
    const change = (sql: string) => {
      const file = new Sqlite(join(cli.home, "board.sqlite"));
      file.exec(sql);
      file.close();
    };
    await cli.ok(["release", "1"]);
    const error = "the worker ended with code 1: the model refused\nmore output";
    const soon = Date.now() + 600_000;
    const guard = JSON.stringify({ reason: "backoff", until: soon });
    change(`update run set outcome = 'crashed', error = '${error}';
      update task set not_before = ${soon}, consecutive_failures = 1, last_failure_error = '${error}';
      update event set kind = 'respawn_guarded', payload = '${guard}' where kind = 'reclaimed'`);
    const clock = (time: number) => new Date(time).toLocaleTimeString("en-GB");
    expect(await cli.ok(["list"], COLUMNS)).toMatch(/Build +retry in 9m$/m);
    const page = await cli.ok(["show", "1"], COLUMNS);
    expect(page).toContain("failed: the model refused");
    expect(page).toMatch(new RegExp(`^  \\d\\d:\\d\\d:\\d\\d  waits until ${clock(soon)}: pause`, "m"));
    expect(page).toMatch(/^failures +1: the model refused\n +\(more: hermes kanban log 1\)$/m);
    const runs = await cli.ok(["runs", "1"], COLUMNS);
    expect(runs).toMatch(
      /^run 1 {2}20\d\d-\d\d-\d\d \d\d:\d\d {2}default {2}\d+s {2}failed: the model refused$/m,
    );
    expect(await cli.ok(["why", "1"])).toContain(
      `until ${clock(soon)}, in 10 minutes: it pauses after a failure (the model refused).`,
    );
    change(
      "update task set status = 'blocked', block_sticky = 1; update event set created_at = 0 where id = 1",
    );
    expect(await cli.ok(["list"], COLUMNS)).toMatch(/Build +the model refused$/m);
    const old = await cli.ok(["show", "1"], COLUMNS);
    expect(old).toMatch(/^ {2}19(69|70)-\d\d-\d\d \d\d:\d\d {2}created by alice/m);
    expect(old).toMatch(/^ {2}20\d\d-\d\d-\d\d \d\d:\d\d {2}started by alice/m); // who claimed it by hand
  });

  test("tail and watch print sentences with titles and skip internal events", async () => {
    await using cli = await openKanbanCli();
    await cli.ok(["create", "Design"]);
    await cli.ok(["create", "Build", "--parent", "1", "--assignee", "coder"]);
    const over = new AbortController();
    let seen = "";
    let isWatching: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      isWatching = resolve;
    });
    const watching = cli
      .run(["watch", "--interval", "0.05"], {
        ...COLUMNS,
        signal: over.signal,
        onNote: () => isWatching(),
        onPrint(text) {
          seen += text;
          if (text.includes("#2 Build: archived")) over.abort();
        },
      })
      .catch(() => undefined);
    await started;
    for (const words of [
      ["claim", "1"],
      ["release", "1", "--reason", "lunch"],
      ["block", "1", "which one?"],
      ["answer", "1", "that one"],
      ["complete", "1", "--summary", "all green"],
      ["comment", "1", "hello"],
      ["block", "2", LONG_REASON],
      ["unblock", "2"],
      ["unlink", "1", "2"],
      ["request-review", "2", "--reviewer", "bob"],
      ["request-changes", "2", "tests"],
      ["reopen", "1"],
      ["hold", "2"],
      ["archive", "2"],
    ])
      await cli.ok(words);
    await watching;
    expect(seen.replaceAll(/\n {10}/g, " ")).toContain(`#2 Build: blocked by alice: ${LONG_REASON}`);
    for (const text of seen.split("\n")) expect(textWidth(text), text).toBeLessThanOrEqual(80);
    for (const expected of [
      "#1 Design: started by alice (run 1)",
      "#1 Design: reclaimed (lunch); it is ready",
      "#1 Design: blocked by alice: which one?",
      "#1 Design: unblocked by alice: that one",
      "#1 Design: done by alice: all green",
      "#2 Build: no longer waits for #1 Design",
      "#2 Build: waits for review by bob",
      "#2 Build: alice requested changes: tests",
    ])
      expect(seen).toContain(expected);
    expect(seen).not.toMatch(/t_[0-9a-f]{12}|=|_|null|undefined/);
    for (const text of seen.trimEnd().split("\n")) expect(text).toMatch(/^(\d\d:\d\d:\d\d {2}#\d | {10}\S)/);
  }, 60_000);

  test("show prints folder, branch, uncommitted changes, and the cost and time of runs", async () => {
    await using cli = await openKanbanCli();
    const repository = join(cli.folder, "shop");
    await mkdir(repository);
    const never = new AbortController().signal;
    const git = (...args: string[]) =>
      runProcess(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", ...args],
        { cwd: repository, env: { PATH: process.env["PATH"] ?? "", HOME: cli.folder }, timeoutMs: 60_000 },
        never,
      );
    await git("init", "-q");
    await git("commit", "-q", "--allow-empty", "-m", "first");
    await cli.ok(["create", "Work", "--workspace", `worktree:${repository}`, "--branch", "feature"]);
    const path = (await cli.ok(["claim", "1"])).trim();
    await writeFile(join(path, "new.txt"), "x\n");
    const page = await cli.ok(["show", "1"], COLUMNS);
    expect(await cli.json(["set-model", "1", "m", "--provider", "openrouter"])).toMatchObject({
      model_override: "m",
    });
    for (const words of [
      ["set-model", "1", "m"],
      ["create", "b", "--model", "m"],
    ]) {
      const refused = await cli.run([...words, "--provider", "openruter"]);
      expect(refused.failure?.message).toBe("There is no provider named openruter.");
      expect(refused.failure?.hint).toMatch(/^Did you mean openrouter\? /);
    }
    expect(await cli.json(["list"])).toMatchObject([{ seq: 1, model_override: "m" }]);
    expect(await cli.json(["set-model", "1", "none"])).toMatchObject({ model_override: null });
    expect(page).toContain("#1 Work\n");
    expect(page.replaceAll(/\s+/g, "")).toContain(path);
    expect(page).toMatch(/^branch +feature$/m);
    expect(page).toMatch(/^changes +1 new file$/m);
    expect(page).toMatch(/^ {2}run 1 {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}by hand {2}\d+s {2}running$/m);
    for (const text of page.split("\n")) expect(textWidth(text), text).toBeLessThanOrEqual(80);
  }, 60_000);

  test("show prints the last line that the worker of a running task has printed", async () => {
    await using cli = await openKanbanCli();
    const { id } = await cli.json<Task>(["create", "Work"]);
    await cli.ok(["claim", "1"]);
    expect(await cli.ok(["show", "1"])).not.toMatch(/^doing /m);
    const log = runLogPath(cli.home, "default", id, 1);
    await mkdir(dirname(log), { recursive: true });
    await writeFile(log, "$ npm test\n12 passed, 1 failed\n");
    expect(await cli.ok(["show", "1"])).toMatch(/^doing +12 passed, 1 failed$/m);
    expect(await cli.json(["show", "1"])).toMatchObject({ doing: "12 passed, 1 failed" });
    await cli.ok(["complete", "1", "--summary", "done"]);
    expect(await cli.ok(["show", "1"])).not.toMatch(/^doing /m);
  });

  test("messages of verbs are accurate and name tasks by their numbers", async () => {
    await using cli = await openKanbanCli();
    await mkdir(cli.home, { recursive: true, mode: 0o700 });
    await writeFile(
      join(cli.home, "config.yaml"),
      "kanban:\n  diagnostics:\n    blocked_stale_hours: 0\n    stranded_threshold_seconds: 0\n",
    );
    await cli.ok(["create", "Ask", "--assignee", "coder"]);
    await cli.ok(["create", "Build", "--parent", "1", "--assignee", "coder"]);
    await cli.ok(["block", "1", "which colour?"]);
    expect((await cli.run(["unguard", "1"])).stderr).toBe(
      "#1 Ask does not start. It is blocked: which colour?\n  hermes kanban answer 1 TEXT\n",
    );
    expect(await cli.ok(["diagnostics"], COLUMNS)).toMatch(
      /^#1 Ask \(warning\)\n {2}blocked since .*, and not answered\n {2}→ hermes kanban answer 1 TEXT\n$/,
    );
    await cli.ok(["answer", "1", "blue"]);
    expect(await cli.ok(["diagnostics"], COLUMNS)).toMatch(
      /^#1 Ask .*\n( {2}.*\n)+ {2}→ hermes kanban assign 1 PROFILE$/m,
    );
    await cli.ok(["set-model", "1", "m"]);
    expect(await cli.ok(["show", "1"])).toMatch(/^model +m$[\s\S]*alice changed its model\n/m);
    await cli.ok(["claim", "1"]);
    const failureOf = async (...words: string[]) => {
      const { failure } = await cli.run(words);
      return [failure?.message, failure?.hint];
    };
    expect(await failureOf("reassign", "1", "bob")).toEqual([
      "#1 is running as coder.",
      "End its run and reassign it: `hermes kanban reassign 1 bob --reclaim`.",
    ]);
    expect(await failureOf("promote", "2")).toEqual(["#2 still waits for #1.", expect.any(String)]);
    await cli.ok(["create", "Old"]);
    await cli.ok(["complete", "3"]);
    expect((await cli.run(["unguard", "3"])).stderr).toBe("#3 Old does not start. It is done.\n");
    expect(await cli.ok(["show", "3"])).not.toContain("allowed it to start");
    expect((await cli.run(["reclaim", "1"])).stderr).toBe(
      "The run of #1 Ask was ended; the task is ready again.\n",
    );
    expect((await failureOf("log", "1", "--run", "1"))[0]).toBe(
      "There is no log of run 1 of #1 in this home.",
    );
    const Sqlite = await loadSqlite();
    const file = new Sqlite(join(cli.home, "board.sqlite"));
    file.exec("update run set host_id = 'far-away-host'");
    file.close();
    expect(await failureOf("log", "1", "--run", "1")).toEqual([
      "Run 1 of #1 was on the host far-away, which has its log.",
      "On that host: `hermes kanban log 1 --run 1`.",
    ]);
  }, 60_000);

  test("purge deletes the files of a task too", async () => {
    await using cli = await openKanbanCli();
    const { id } = await cli.json<Task>(["create", "a"]);
    await cli.ok(["attach", id, join(cli.home, "board.sqlite")]);
    const folder = join(cli.home, "kanban", "attachments", id);
    expect(await readdir(folder)).toHaveLength(1);
    await cli.ok(["archive", id]);
    await cli.ok(["purge", id]);
    await expect(readdir(folder)).rejects.toThrow("ENOENT");
  });

  test("watch ends with an error when the board file is replaced, and a daemon continues with the new file", async () => {
    await using cli = await openKanbanCli();
    await cli.ok(["create", "of the old file"]);
    const stop = new AbortController();
    const noted: string[] = [];
    let watching: ReturnType<typeof cli.run> | undefined;
    await new Promise<void>((resolve) => {
      watching = cli.run(["watch", "--interval", "0.05"], { onNote: () => resolve() });
    });
    const daemon = cli.run(["daemon"], { signal: stop.signal, onNote: (text) => noted.push(text) });
    const liveDispatchers = async () =>
      (await cli.json<{ dispatchers: object[] }>(["dispatch-status"])).dispatchers.length;
    await expect.poll(liveDispatchers, { timeout: 30_000 }).toBe(1);

    const path = join(cli.home, "board.sqlite");
    for (const suffix of ["", "-wal", "-shm"])
      await rename(`${path}${suffix}`, join(cli.folder, `old${suffix}`)).catch(() => undefined);
    expect((await watching)?.failure).toMatchObject({
      code: "database-replaced",
      message: expect.stringContaining(path),
    });
    await expect.poll(() => noted.join("\n"), { timeout: 30_000 }).toContain("was replaced or removed");
    expect(await readdir(cli.home)).not.toContain("board.sqlite");
    await cli.ok(["create", "of the new file"]);
    await expect.poll(liveDispatchers, { timeout: 30_000 }).toBe(1);
    stop.abort();
    await daemon;
    expect(await cli.ok(["list"])).not.toContain("of the old file");
  }, 120_000);

  test("a current board whose file was removed is reported, and boards create makes it anew", async () => {
    await using cli = await openKanbanCli();
    await cli.ok(["boards", "create", "ops", "--switch"]);
    await cli.ok(["create", "a"]);
    const path = join(cli.home, "kanban", "boards", "ops", "board.sqlite");
    await rename(path, join(cli.folder, "lost"));
    for (const words of [["list"], ["--board", "ops", "create", "b"]])
      expect((await cli.run(words)).failure, words.join(" ")).toMatchObject({
        code: "database-damaged",
        message: `The board ops has lost its file: ${path} is missing.`,
      });
    expect((await cli.run(["boards", "create", "ops"])).stderr).toBe("Created the board ops.\n");
    expect(await cli.json(["list"])).toEqual([]);
  });

  test("a truncated board file is reported as damaged, not treated as new", async () => {
    await using cli = await openKanbanCli();
    await cli.ok(["create", "a"]);
    await writeFile(join(cli.home, "board.sqlite"), "");
    expect((await cli.run(["list"])).failure).toMatchObject({ code: "database-damaged" });
  });
});
