import type { Command } from "commander";
import type { Task } from "../../../board/task.ts";
import { parseAssignee } from "../../../board/task-text.ts";
import { describeStatus } from "../../../board/transitions.ts";
import { AppError } from "../../../lib/errors.ts";
import { findClosest } from "../../../lib/text/did-you-mean.ts";
import { listProfiles } from "../../../profiles/profile-store.ts";
import {
  type JsonOption,
  type KanbanContext,
  type OpenBoardContext,
  withBoard,
  withTasks,
} from "./kanban-context.ts";
import { escapedName } from "./views/event-line.ts";

/** The action of a verb that works on the open board, with its arguments and options. */
export function onBoard<Words extends unknown[]>(
  kanbanContext: KanbanContext,
  work: (open: OpenBoardContext, ...words: Words) => Promise<void>,
): (...words: Words) => Promise<void> {
  return (...words) => withBoard(kanbanContext, (open) => work(open, ...words));
}

/** The action of a verb that changes the tasks named by its first argument and by `--ids`, and reports each. */
export function onTasks<Words extends unknown[], Answer extends Task>(
  kanbanContext: KanbanContext,
  change: (open: OpenBoardContext, id: string, ...words: Words) => Promise<Answer>,
  describe: (answer: Answer, words: Words) => string = formatStatus,
): (named: string | readonly string[], ...words: [...Words, Command]) => Promise<void> {
  return (named, ...given) => {
    const words = given.slice(0, -1) as Words;
    const { ids = [], json = false } = (given.at(-1) as Command).opts<TasksOptions>();
    return withBoard(kanbanContext, (open) => {
      const wanted = {
        ids: [named, ids].flat(),
        change: (id: string) => change(open, id, ...words),
        describe: (answer: Answer) => describe(answer, words),
      };
      return changeTasks(open, wanted, { json });
    });
  };
}

interface TasksOptions extends JsonOption {
  readonly ids?: readonly string[];
}

function formatStatus(task: Task): string {
  return `${escapedName(task)} is ${describeStatus(task.status)}.`;
}

export function describeAssignee({ assignee }: Task): string {
  return assignee === null ? "unassigned" : `assigned to ${assignee}`;
}

/** What a command prints as JSON: at least the task's id; usually the whole task plus command-specific fields. */
export interface TaskAnswer {
  readonly id: string;
}

/** Prints the task that a command has changed: the task as JSON, or a sentence. */
export function reportTask<Answer extends TaskAnswer>(
  { context }: OpenBoardContext,
  task: Answer,
  sentence: string,
  { json }: JsonOption,
): void {
  if (json) context.terminal.printJson(task);
  else context.terminal.note(sentence);
}

interface TaskChange<Answer extends TaskAnswer> {
  readonly ids: readonly string[];
  readonly change: (id: string) => Promise<Answer>;
  readonly describe: (answer: Answer) => string;
}

/** Changes one or more tasks. A refused task does not stop the others, but makes the exit code 1. */
export async function changeTasks<Answer extends TaskAnswer>(
  open: OpenBoardContext,
  { ids, change, describe }: TaskChange<Answer>,
  options: JsonOption,
): Promise<void> {
  const { terminal } = open.context;
  const wanted = [...new Set(ids)];
  const [only, ...others] = wanted;
  if (only !== undefined && others.length === 0) {
    const answer = await withTasks(open, wanted, change);
    return reportTask(open, answer, describe(answer), options);
  }
  const answers: unknown[] = [];
  for (const id of wanted) {
    try {
      const answer = await withTasks(open, [id], change);
      answers.push(answer);
      if (!options.json) terminal.note(describe(answer));
    } catch (error) {
      if (!(error instanceof AppError) || open.signal.aborted) throw error;
      const { code, message, hint } = error;
      answers.push({ id, error: { code, message, hint } });
      open.context.exit(1);
      if (!options.json) terminal.note(`hermes: ${message}\n  ${hint}`);
    }
  }
  if (options.json) terminal.printJson(answers);
}

export async function profileNames({ app }: OpenBoardContext): Promise<readonly string[]> {
  return (await listProfiles(app.profile.root)).map(({ name }) => name);
}

/** Prints a notice and returns true if an assignee is not a profile of this home: it may be a lane or a typo. */
export async function noteLane(
  open: OpenBoardContext,
  assignee: string | null | undefined,
): Promise<boolean> {
  const name = parseAssignee(assignee);
  if (name === null) return false;
  const profiles = await profileNames(open);
  if (profiles.includes(name)) return false;
  const near = findClosest(name, profiles);
  const question = near === undefined ? "" : ` Did you mean ${near}?`;
  open.context.terminal.note(
    `hermes: note: there is no profile ${name} in this home; the task waits in that lane until it is claimed.${question}`,
  );
  return true;
}
