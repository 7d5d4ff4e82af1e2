import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { attachmentFolders, boardsLocation } from "../../../../app/board.ts";
import { removeSandboxes } from "../../../../app/clean-up-after.ts";
import { taskLogFolder } from "../../../../board/supervisor/log/run-log.ts";
import { BLOCK_KINDS, type BlockKind, type Task } from "../../../../board/task.ts";
import { describeStatus, mayMove } from "../../../../board/transitions.ts";
import { folderNameOf } from "../../../../board/workspaces/workspace.ts";
import { AppError } from "../../../../lib/errors.ts";
import { formatTime } from "../../../../lib/time/format-time.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import type { AddVerb } from "../../../define-command.ts";
import { type JsonOption, type KanbanContext, type OpenBoardContext, withBoard } from "../kanban-context.ts";
import { parseObject, parseTime, type ResultOptions } from "../parse.ts";
import { changeTasks, onTasks } from "../verb.ts";
import { escapedName } from "../views/event-line.ts";
import { cleanUpAfter, cleanupOf } from "./clean-up-after.ts";

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("complete", "Complete tasks with a result; tasks that wait for them can start.", [
    'hermes kanban complete 12 --result "merged"',
    'hermes kanban complete 12 --summary "all green"',
  ])
    .argument("<tasks...>")
    .option("--result <text>", "short result, for all tasks")
    .option("--summary <text>", "handover text, for a single task")
    .option("--metadata <json>", "JSON object stored with the summary, for a single task", parseObject)
    .action((ids: readonly string[], options: ResultOptions, command: Command) =>
      complete(kanbanContext, ids, options, command),
    );
  add("block", "Block tasks; the reason is added as a comment.", [
    "hermes kanban block 12 --kind needs_input which database?",
  ])
    .argument("<task>")
    .argument("<reason...>")
    .option("--ids <tasks...>", "more tasks")
    .addOption(new Option("--kind <kind>", "kind of block").choices(BLOCK_KINDS))
    .action(
      onTasks(
        kanbanContext,
        ({ client, signal }, id, reason: readonly string[], { kind }: { kind?: BlockKind }) =>
          client.block(id, reason.join(" "), kind, signal),
      ),
    );
  add("unblock", "Unblock tasks that are blocked, scheduled or in triage; resets their failures.", [
    'hermes kanban unblock 12 --reason "use PostgreSQL"',
  ])
    .argument("<tasks...>")
    .option("--reason <text>", "reason to record")
    .action(
      onTasks(kanbanContext, ({ client, signal }, id, { reason }: { reason?: string }) =>
        client.unblock(id, reason, signal),
      ),
    );
  add("schedule", "Schedule tasks: they become ready at the given time.", [
    "hermes kanban schedule 12 --at 2027-01-31T09:00 after the release",
  ])
    .argument("<task>")
    .argument("[reason...]")
    .requiredOption("--at <time>", "ISO time", parseTime)
    .option("--ids <tasks...>", "more tasks")
    .action(
      onTasks(
        kanbanContext,
        ({ client, signal }, id, reason: readonly string[], { at }: { at: number }) =>
          client.schedule(id, at, reason.join(" "), signal),
        (task, [, { at }]) =>
          at > Date.now()
            ? `${escapedName(task)} waits until ${formatTime(at)}.`
            : `${escapedName(task)} becomes ready when the dispatcher next runs, because ${formatTime(at)} is in the past.`,
      ),
    );
  add("promote", "Make waiting or triaged tasks ready; refused while a parent is open.", [
    "hermes kanban promote 12 --dry-run",
  ])
    .argument("<tasks...>")
    .option("--dry-run", "show what would happen, without doing it")
    .action((ids: readonly string[], options: { dryRun?: boolean }, command: Command) =>
      (options.dryRun ? tryPromote : promote)(ids, command),
    );
  const promote = onTasks(kanbanContext, ({ client, signal }, id) => client.promote(id, undefined, signal));
  const tryPromote = onTasks(kanbanContext, wouldPromote, (task) => `${escapedName(task)} would be ready.`);
  add("archive", "Archive tasks, in any status.", ["hermes kanban archive 12 13"])
    .argument("<tasks...>")
    .option("--rm", "delete tasks that are already archived, like purge")
    .action((ids: readonly string[], options: JsonOption & { rm?: boolean }, command: Command) =>
      options.rm ? purge(kanbanContext, ids, options) : archive(ids, command),
    );
  const archive = onTasks(kanbanContext, async (open, id) => {
    const task = await open.client.archive(id, open.signal);
    await cleanUpAfter(open, id);
    return task;
  });
  add("purge", "Delete archived tasks and all their data.", [
    "hermes kanban archive 12 && hermes kanban purge 12",
  ])
    .argument("<tasks...>")
    .action((ids: readonly string[], options: JsonOption) => purge(kanbanContext, ids, options));
}

async function complete(
  kanbanContext: KanbanContext,
  ids: readonly string[],
  { result, summary, metadata }: ResultOptions,
  command: Command,
): Promise<void> {
  if (new Set(ids).size > 1 && (summary !== undefined || metadata !== undefined)) {
    throw new AppError("usage-wrong", "--summary and --metadata apply to a single task.", {
      hint: "Complete the tasks one by one, or use --result for all of them.",
    });
  }
  const change = async (open: OpenBoardContext, id: string): Promise<Task> => {
    const task = await open.client.complete(id, withoutUndefined({ result, summary, metadata }), open.signal);
    await cleanUpAfter(open, id);
    return task;
  };
  await onTasks(kanbanContext, change)(ids, command);
}

async function wouldPromote(
  { store, signal }: OpenBoardContext,
  id: string,
): Promise<Task & { would_be: "ready" }> {
  const { task, parents } = await store.show(id, signal);
  if (!mayMove("promote", task.status))
    throw new AppError(
      "task-move-refused",
      `${id} is ${describeStatus(task.status)} and cannot be promoted.`,
    );
  const shown = await Promise.all(parents.map((parent) => store.show(parent, signal)));
  const open = shown.filter(({ task: { status } }) => status !== "done" && status !== "archived");
  if (open.length > 0)
    throw new AppError(
      "task-parents-open",
      `${id} still waits for ${open.map(({ task }) => task.id).join(", ")}.`,
    );
  if (task.hold) throw new AppError("task-move-refused", `${id} is held; remove the hold first.`);
  return { ...task, would_be: "ready" };
}

async function purge(
  kanbanContext: KanbanContext,
  ids: readonly string[],
  options: JsonOption,
): Promise<void> {
  const names = new Map<string, string>();
  await withBoard(kanbanContext, (open) => {
    const change = async (id: string) => {
      const { task, runs } = await open.store.show(id, open.signal);
      names.set(id, escapedName(task));
      const last = runs.findLast(({ worker_pid: pid }) => pid !== null);
      if (last !== undefined) await removeSandboxes(cleanupOf(open), last, open.signal);
      await open.client.purge(id, open.signal);
      const { root } = boardsLocation(open.app);
      const name = folderNameOf(id);
      const folders = [
        join(attachmentFolders(open).attachments, name),
        taskLogFolder(root, open.store.slug, name),
      ];
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
      return { id, deleted: true };
    };
    return changeTasks(open, { ids, change, describe: ({ id }) => `${names.get(id)} is deleted.` }, options);
  });
}
