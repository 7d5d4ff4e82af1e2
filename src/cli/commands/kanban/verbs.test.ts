import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { CommanderError } from "commander";
import { describe, expect, test } from "vitest";
import { type KanbanCli, openKanbanCli } from "../../../../test/support/kanban-line.ts";
import type { Task } from "../../../board/task.ts";
import { STATUSES, type Status, TRANSITIONS } from "../../../board/transitions.ts";

/** The commands that bring a new task to each status. */
const REACH: Readonly<Record<Status, readonly (readonly string[])[]>> = {
  triage: [["create", "x", "--triage"]],
  todo: [
    ["create", "x"],
    ["block", "ID", "waits for another", "--kind", "dependency"],
  ],
  scheduled: [
    ["create", "x"],
    ["schedule", "ID", "--at", "2099-01-01"],
  ],
  ready: [["create", "x"]],
  running: [
    ["create", "x"],
    ["claim", "ID"],
  ],
  blocked: [
    ["create", "x"],
    ["block", "ID", "which database?"],
  ],
  review: [
    ["create", "x", "--assignee", "coder"],
    ["request-review", "ID", "--reviewer", "bob"],
  ],
  done: [
    ["create", "x"],
    ["complete", "ID"],
  ],
  archived: [
    ["create", "x"],
    ["archive", "ID"],
  ],
};

/** The arguments of each verb of the table of moves. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  block: ["ID", "why"],
  answer: ["ID", "text"],
  schedule: ["ID", "--at", "2099-01-01"],
  "request-review": ["ID", "--reviewer", "bob"],
  "request-changes": ["ID", "why"],
};
const VERBS = [...new Set(Object.values(TRANSITIONS).flatMap(({ verbs }) => [...verbs]))].filter(
  (verb) => verb !== "link",
);

/** Whether the table allows the verb from this status; the test then tries it. */
const isTried = (verb: string, from: Status): boolean =>
  Object.values(TRANSITIONS).some(
    (move) =>
      (move.verbs as readonly string[]).includes(verb) && (move.from as readonly Status[]).includes(from),
  );

async function make(cli: KanbanCli, status: Status): Promise<string> {
  let task: Task | undefined;
  for (const words of REACH[status])
    task = await cli.json<Task>(words.map((word) => (word === "ID" ? (task?.id ?? "") : word)));
  expect(task?.status).toBe(status);
  return task?.id ?? "";
}

describe("the verbs of the board", () => {
  test("the verbs of the command line can bring a task from every status to ready and to done, without archiving it", async () => {
    await using cli = await openKanbanCli();
    const steps = new Map<Status, Map<Status, string>>();
    for (const from of STATUSES) {
      const reached = new Map<Status, string>();
      for (const verb of VERBS.filter((one) => isTried(one, from))) {
        const id = await make(cli, from);
        const words = (WORDS[verb] ?? ["ID"]).map((word) => (word === "ID" ? id : word));
        const { stdout, failure } = await cli.run([verb, ...words, "--json"]);
        const to = failure === undefined ? (JSON.parse(stdout) as Task).status : from;
        if (to !== from && !reached.has(to)) reached.set(to, verb);
      }
      steps.set(from, reached);
    }
    for (const from of STATUSES)
      for (const goal of ["ready", "done"] as const)
        expect(pathTo(steps, from, goal), `${from} to ${goal}`).toBeDefined();
  }, 120_000);

  test("every verb that help, hints, `why` and help-moves name exists", async () => {
    await using cli = await openKanbanCli();
    const help = await helpOf(cli, []);
    const verbs = [...help.matchAll(/^ {2}([a-z][a-z-]*)(?: [<[].*)?(?: {2,}|$)/gm)].map(
      ([, verb = ""]) => verb,
    );
    expect(verbs).toEqual(expect.arrayContaining(["create", "specify", "answer", "boards"]));
    const pages = await Promise.all(verbs.map((verb) => helpOf(cli, [verb])));
    const moves = await cli.ok(["help-moves"]);
    const text = [help, ...pages, moves, await builtProgram()].join("\n");
    // A name in capitals, such as VERB, is a placeholder.
    const named = [...text.matchAll(/hermes kanban (?:--board \w+ )?([a-z][a-z-]*)/g)].map(
      ([, verb = ""]) => verb,
    );
    const aliases = ["ls", "diag"];
    expect([...new Set(named)].filter((verb) => ![...verbs, ...aliases, "supervise"].includes(verb))).toEqual(
      [],
    );
    expect(
      Object.values(TRANSITIONS).flatMap((move) => move.verbs.filter((verb) => !verbs.includes(verb))),
    ).toEqual([]);
    for (const verb of VERBS) expect(moves).toContain(verb);
  }, 60_000);
});

async function helpOf(cli: KanbanCli, words: readonly string[]): Promise<string> {
  let help = "";
  await cli
    .run([...words, "--help"], {
      onPrint(text) {
        help += text;
      },
    })
    .catch((error: unknown) => {
      if (!(error instanceof CommanderError)) throw error;
    });
  return help;
}

/** The text of the bundle: it holds everything that the program can print, without comments. */
async function builtProgram(): Promise<string> {
  const folder = fileURLToPath(new URL("../../../../dist", import.meta.url));
  const files = (await readdir(folder, { recursive: true })).filter((name) => /\.c?js$/.test(name));
  return (await Promise.all(files.map((name) => readFile(`${folder}/${name}`, "utf8")))).join("\n");
}

/** A path that does not archive the task, because an archive does not count as a way out of a status. */
function pathTo(
  steps: ReadonlyMap<Status, ReadonlyMap<Status, string>>,
  from: Status,
  goal: Status,
): readonly string[] | undefined {
  const paths = new Map<Status, readonly string[]>([[from, []]]);
  for (const [status, path] of paths)
    for (const [to, verb] of steps.get(status) ?? [])
      if (!paths.has(to) && to !== "archived") paths.set(to, [...path, verb]);
  return paths.get(goal);
}
