import { AppError } from "../../../lib/errors.ts";
import { type JsonOption, type OpenDesk, withTasks } from "./desk.ts";

/** What is printed of a task: the task itself, and what the command has to add. */
export interface TaskAnswer {
  readonly id: string;
}

/** Prints the task that a command has changed: as JSON the task itself, else a sentence. */
export function tellTask<Answer extends TaskAnswer>(
  { context }: OpenDesk,
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
  readonly say: (answer: Answer) => string;
}

/** Changes one task or several. Of several, those that are refused do not keep the others back, and the exit code is 1. */
export async function changeTasks<Answer extends TaskAnswer>(
  desk: OpenDesk,
  { ids, change, say }: TaskChange<Answer>,
  options: JsonOption,
): Promise<void> {
  const { terminal } = desk.context;
  const wanted = [...new Set(ids)];
  const [only, ...others] = wanted;
  if (only !== undefined && others.length === 0) {
    const answer = await withTasks(desk, wanted, change);
    return tellTask(desk, answer, say(answer), options);
  }
  const answers: unknown[] = [];
  for (const id of wanted) {
    try {
      const answer = await withTasks(desk, [id], change);
      answers.push(answer);
      if (!options.json) terminal.note(say(answer));
    } catch (error) {
      if (!(error instanceof AppError) || desk.signal.aborted) throw error;
      const { code, message, hint } = error;
      answers.push({ id, error: { code, message, hint } });
      desk.context.exit(1);
      if (!options.json) terminal.note(`hermes: ${message}\n  ${hint}`);
    }
  }
  if (options.json) terminal.printJson(answers);
}
