import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { boardsPlace } from "../../../app.ts";
import { BLOCK_KINDS, type BlockKind, type Task } from "../../../board/task.ts";
import { mayMove } from "../../../board/transitions.ts";
import { taskLogFolder } from "../../../board/worker/run-log.ts";
import { folderNameOf } from "../../../board/workspaces/workspace.ts";
import { AppError } from "../../../lib/errors.ts";
import { formatTime as moment } from "../../../lib/format-time.ts";
import { withExamples } from "../../define-command.ts";
import { attachmentPlace } from "./attachment-place.ts";
import { changeTasks } from "./change-tasks.ts";
import { cleanUpAfter } from "./clean-up-after.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk } from "./desk.ts";
import { shownName } from "./event-line.ts";
import { givenOnly } from "./given-only.ts";
import { parseObject, parseTime } from "./parse.ts";

interface CompleteOptions extends JsonOption {
  readonly result?: string;
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

interface ReasonOptions extends JsonOption {
  readonly ids?: readonly string[];
}

/** The verbs that move a task to another column. */
export function addMoves(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("complete", "End tasks with a result; what waits for them goes on.")
      .argument("<tasks...>")
      .option("--result <text>", "a short line, for all of them")
      .option("--summary <text>", "what is handed over; of one task")
      .option("--metadata <json>", "an object that belongs to it; of one task", parseObject)
      .action((ids: readonly string[], options: CompleteOptions) => complete(desk, ids, options)),
    ['hermes kanban complete 12 --result "merged"', 'hermes kanban complete 12 --summary "all green"'],
  );
  const kind = new Option("--kind <kind>", "what it waits for").choices(BLOCK_KINDS);
  withExamples(
    add("block", "Set tasks aside; the reason becomes a comment.")
      .argument("<task>")
      .argument("<reason...>")
      .option("--ids <tasks...>", "these too")
      .addOption(kind)
      .action((id: string, reason: readonly string[], options: ReasonOptions & { kind?: BlockKind }) =>
        block(desk, id, reason, options),
      ),
    ["hermes kanban block 12 --kind needs_input which database?"],
  );
  withExamples(
    add("unblock", "Bring tasks back that are blocked, scheduled or in triage; failures are forgotten.")
      .argument("<tasks...>")
      .option("--reason <text>", "why")
      .action((ids: readonly string[], options: JsonOption & { reason?: string }) =>
        unblock(desk, ids, options),
      ),
    ['hermes kanban unblock 12 --reason "use PostgreSQL"'],
  );
  withExamples(
    add("schedule", "Let tasks wait for a time, at which they come back by themselves.")
      .argument("<task>")
      .argument("[reason...]")
      .requiredOption("--at <time>", "an ISO time", parseTime)
      .option("--ids <tasks...>", "these too")
      .action((id: string, reason: readonly string[], options: ReasonOptions & { at: number }) =>
        schedule(desk, id, reason, options),
      ),
    ["hermes kanban schedule 12 --at 2027-01-31T09:00 after the release"],
  );
  withExamples(
    add("promote", "Make tasks ready that wait or are in triage; never while a parent is open.")
      .argument("<tasks...>")
      .option("--dry-run", "only say what would happen")
      .action((ids: readonly string[], options: JsonOption & { dryRun?: boolean }) =>
        promote(desk, ids, options),
      ),
    ["hermes kanban promote 12 --dry-run"],
  );
  withExamples(
    add("archive", "End tasks for good, whatever they are doing.")
      .argument("<tasks...>")
      .option("--rm", "delete tasks that are archived already, as purge does")
      .action((ids: readonly string[], { rm, ...options }: JsonOption & { rm?: boolean }) =>
        rm === true ? purge(desk, ids, options) : archive(desk, ids, options),
      ),
    ["hermes kanban archive 12 13"],
  );
  withExamples(
    add("purge", "Delete archived tasks with all that belongs to them.")
      .argument("<tasks...>")
      .action((ids: readonly string[], options: JsonOption) => purge(desk, ids, options)),
    ["hermes kanban archive 12 && hermes kanban purge 12"],
  );
}

const isNow = (task: Task): string => `${shownName(task)} is ${task.status}.`;

async function complete(
  desk: Desk,
  ids: readonly string[],
  { result, summary, metadata, ...options }: CompleteOptions,
): Promise<void> {
  if (new Set(ids).size > 1 && (summary !== undefined || metadata !== undefined)) {
    throw new AppError("usage-wrong", "--summary and --metadata are of one task.", {
      hint: "Complete the tasks one by one, or give them a common --result.",
    });
  }
  const completion = givenOnly({ result, summary, metadata });
  await atBoard(desk, (open) => {
    const change = async (id: string) => {
      const task = await open.client.complete(id, completion, open.signal);
      await cleanUpAfter(open, id);
      return task;
    };
    return changeTasks(open, { ids, change, say: isNow }, options);
  });
}

async function block(
  desk: Desk,
  id: string,
  words: readonly string[],
  { ids = [], kind, ...options }: ReasonOptions & { kind?: BlockKind },
): Promise<void> {
  await atBoard(desk, (open) => {
    const change = (one: string) => open.client.block(one, words.join(" "), kind, open.signal);
    return changeTasks(open, { ids: [id, ...ids], change, say: isNow }, options);
  });
}

async function unblock(
  desk: Desk,
  ids: readonly string[],
  { reason, ...options }: JsonOption & { reason?: string },
): Promise<void> {
  await atBoard(desk, (open) => {
    const change = (id: string) => open.client.unblock(id, reason, open.signal);
    return changeTasks(open, { ids, change, say: isNow }, options);
  });
}

async function schedule(
  desk: Desk,
  id: string,
  words: readonly string[],
  { ids = [], at, ...options }: ReasonOptions & { at: number },
): Promise<void> {
  await atBoard(desk, (open) => {
    const change = (one: string) => open.client.schedule(one, at, words.join(" "), open.signal);
    const say = (task: Task) => `${shownName(task)} waits until ${moment(at)}.`;
    return changeTasks(open, { ids: [id, ...ids], change, say }, options);
  });
}

async function promote(
  desk: Desk,
  ids: readonly string[],
  { dryRun, ...options }: JsonOption & { dryRun?: boolean },
): Promise<void> {
  await atBoard(desk, (open) => {
    if (dryRun !== true) {
      const change = (id: string) => open.client.promote(id, undefined, open.signal);
      return changeTasks(open, { ids, change, say: isNow }, options);
    }
    const change = (id: string) => tryPromote(open, id);
    const say = (task: Task) => `${shownName(task)} would be ready.`;
    return changeTasks(open, { ids, change, say }, options);
  });
}

/** What `promote` would say, without doing it. */
async function tryPromote({ store, signal }: OpenDesk, id: string): Promise<Task & { would_be: "ready" }> {
  const { task, parents } = await store.show(id, signal);
  if (!mayMove("promote", task.status))
    throw new AppError("task-move-refused", `${id} is ${task.status}; "promote" does not lead from there.`);
  const shown = await Promise.all(parents.map((parent) => store.show(parent, signal)));
  const open = shown.filter(({ task: { status } }) => status !== "done" && status !== "archived");
  if (open.length > 0)
    throw new AppError(
      "task-parents-open",
      `${id} still waits for ${open.map(({ task }) => task.id).join(", ")}.`,
    );
  if (task.hold) throw new AppError("task-move-refused", `${id} is held; let it go first.`);
  return { ...task, would_be: "ready" };
}

async function archive(desk: Desk, ids: readonly string[], options: JsonOption): Promise<void> {
  await atBoard(desk, (open) => {
    const change = async (id: string) => {
      const task = await open.client.archive(id, open.signal);
      await cleanUpAfter(open, id);
      return task;
    };
    return changeTasks(open, { ids, change, say: isNow }, options);
  });
}

async function purge(desk: Desk, ids: readonly string[], options: JsonOption): Promise<void> {
  const names = new Map<string, string>();
  await atBoard(desk, (open) => {
    const change = async (id: string) => {
      names.set(id, shownName((await open.store.show(id, open.signal)).task));
      await open.client.purge(id, open.signal);
      const { root } = boardsPlace(open.app);
      const name = folderNameOf(id);
      const folders = [
        join(attachmentPlace(open).attachments, name),
        taskLogFolder(root, open.store.slug, name),
      ];
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
      return { id, deleted: true };
    };
    return changeTasks(open, { ids, change, say: ({ id }) => `${names.get(id)} is deleted.` }, options);
  });
}
