import { expect, test } from "vitest";
import { exportLines } from "../../src/board/operations/boards/transfer.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { exportedLines, openPostgresLab, openSqliteLab, openStage } from "../support/board-lab.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";

const TASKS = scale.boardTasks;
const importer = { kind: "system", name: "import" } as const;

/**
 * Bypasses the store, which would need one transaction per task. Every third task is done and has the previous task as
 * parent.
 */
const FILL = (numbers: string): readonly string[] => [
  `insert into task (id, title, body, assignee, status, priority, created_by, created_at, updated_at, completed_at)
   select 't_' || i, 'task ' || i, case when i % 7 = 0 then 'body with ''quotes'' and ✓' end,
          case when i % 5 > 0 then 'worker-' || (i % 5) end, case when i % 3 = 0 then 'done' else 'todo' end,
          i % 10, 'test', 1000 + i, 2000 + i, case when i % 3 = 0 then 3000 + i end from ${numbers}`,
  `insert into event (id, task_id, kind, actor, to_status, payload, created_at)
   select i, 't_' || i, 'created', 'test', case when i % 3 = 0 then 'done' else 'todo' end, '{"n":1.5}', 1000 + i
     from ${numbers}`,
  `insert into link (parent_id, child_id) select 't_' || (i - 1), 't_' || i from ${numbers} where i % 3 = 0`,
  `insert into comment (task_id, author, body, created_at)
   select 't_' || i, 'someone', 'line' || i, 4000 + i from ${numbers} where i % 4 = 0`,
  `insert into run (task_id, profile, source_status, lease_token, lease_ms, lease_until, started_at, ended_at, outcome,
                    summary, metadata)
   select 't_' || i, 'worker', 'ready', 'token-' || i, 0, 0, 2500, 3000, 'completed', 'sum ' || i, '{"n":1}'
     from ${numbers} where i % 3 = 0`,
  `update counter set value = ${TASKS} where name = 'event'`,
];
const SQLITE_NUMBERS = `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${TASKS}) select i from n) as numbers`;
const POSTGRES_NUMBERS = `generate_series(1, ${TASKS}) as i`;

describeWith("postgres", `a board of ${TASKS} tasks`, ({ url }) => {
  const databases = {
    SQLite: { open: openSqliteLab, numbers: SQLITE_NUMBERS },
    PostgreSQL: { open: () => openPostgresLab(url), numbers: POSTGRES_NUMBERS },
  };

  test.each([
    ["SQLite", "PostgreSQL"],
    ["PostgreSQL", "SQLite"],
  ] as const)("survives an export from %s to %s and back unchanged", async (from, to) => {
    await using start = await openStage(databases[from].open);
    for (const sql of FILL(databases[from].numbers)) await start.lab.raw(sql);
    const [header = "", ...lines] = await exportedLines(start.store);
    expect(lines.length).toBeGreaterThan(2 * TASKS);
    expect(await start.store.check(neverAborted)).toEqual([]);
    await using there = await openStage(databases[to].open);
    await there.store.import(importer, { lines: [header, ...lines] }, neverAborted);
    expect(await there.store.check(neverAborted)).toEqual([]);
    await using back = await openStage(databases[from].open);
    await back.store.import(importer, { lines: await exportedLines(there.store) }, neverAborted);
    const returned = (await exportedLines(back.store)).slice(1);
    // Compare line by line first: a diff of a whole board is unreadable.
    expect(returned.filter((line, index) => line !== lines[index]).slice(0, 3)).toEqual([]);
    expect(returned.length).toBe(lines.length);
  });
});

test("an export reads at most one page of rows at a time and writes it before it reads the next page", async () => {
  await using lab = await openSqliteLab();
  await using store = await lab.open();
  for (const sql of FILL(SQLITE_NUMBERS)) await lab.raw(sql);
  let written = 0;
  const unwritten: number[] = []; // rows read but not written yet, per page
  await store.forDispatcher.read(function* () {
    const steps = exportLines({}, () => void written++);
    let step = steps.next();
    let read = 0;
    while (step.done !== true) {
      const answer = yield step.value;
      unwritten.push(answer.rows.length + read - written);
      read += answer.rows.length;
      step = steps.next(answer);
    }
  }, neverAborted);
  expect(written).toBeGreaterThan(2 * TASKS);
  expect(Math.max(...unwritten)).toBeLessThanOrEqual(501);
});
