import { Option } from "commander";
import { answerTaskQuestion, type TaskQuestion } from "../../../../app/approvals.ts";
import type { Task } from "../../../../board/task.ts";
import { describeStatus } from "../../../../board/transitions.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import type { AddVerb } from "../../../define-command.ts";
import { requirePerson } from "../../../require-person.ts";
import { quoteShort } from "../../../terminal/quote-text.ts";
import type { KanbanContext } from "../kanban-context.ts";
import { type BodyOptions, readBody } from "../parse.ts";
import { noteLane, onTasks } from "../verb.ts";
import { escapedName } from "../views/event-line.ts";

interface SpecifyOptions extends BodyOptions {
  readonly title?: string;
  readonly assignee?: string;
}

/** The question about a call that the answer to a task was for. */
interface AnsweredQuestion {
  readonly id: string;
  readonly profile: string;
  readonly state: string;
  readonly call: string;
}

function describeQuestion({
  approval: { id, state, tool, summary },
  profile,
}: TaskQuestion): AnsweredQuestion {
  return { id, profile, state, call: `${tool}: ${summary}` };
}

function formatQuestion({ id, profile, state, call }: AnsweredQuestion): string {
  if (state === "answered") return `The question was answered: ${quoteShort(call)}`;
  if (state !== "waiting") return `The call was ${state}: ${quoteShort(call)}`;
  return `The call was not approved, because the answer was not exactly yes or no. Approve it with: hermes -p ${profile} approvals approve ${id}`;
}

/** The verbs that return a task from triage, blocked, failed, done or review. */
export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add(
    "specify",
    "Write the description of a task in triage; it then waits for its parents or becomes ready.",
    ['hermes kanban specify 12 --body "Use PostgreSQL 16" --assignee coder'],
  )
    .argument("<task>")
    .option("--title <text>", "new title")
    .addOption(new Option("--body <text>", "description, with acceptance criteria").conflicts("bodyFile"))
    .option("--body-file <file>", "read the body from a file (use - for standard input)")
    .option("--assignee <profile>", "profile that does the task; 'none' leaves it unassigned")
    .action(
      onTasks(kanbanContext, async (open, id, options: SpecifyOptions) => {
        const { title, assignee } = options;
        const written = withoutUndefined({ title, body: await readBody(options, open.context), assignee });
        const task = await open.client.specify(id, written, open.signal);
        await noteLane(open, assignee);
        return task;
      }),
    );
  add("answer", "Answer a task's question with a comment; unblocks it if it is blocked or in triage.", [
    "hermes kanban answer 12 use PostgreSQL 16",
  ])
    .argument("<task>")
    .argument("<text...>")
    .action(
      onTasks(
        kanbanContext,
        async ({ app, store, client, context, signal }, id, words: readonly string[]) => {
          const text = words.join(" ");
          const { runs } = await store.show(id, signal);
          // First, so that the worker that starts next finds the answer to its question.
          const given = { text, requirePerson: () => requirePerson(context) };
          const asked = await answerTaskQuestion(app, runs, given, signal);
          const { state, answer } = asked?.approval ?? {};
          // A number stands for a choice, which the worker must read in full.
          const comment = state === "answered" && answer !== undefined ? answer : text;
          const task = await client.answer(id, comment, signal);
          return asked === undefined ? task : { ...task, question: describeQuestion(asked) };
        },
        (task: Task & { readonly question?: AnsweredQuestion }) => {
          const effect =
            task.status === "running"
              ? "its worker reads the answer at its next step"
              : `it is ${describeStatus(task.status)}`;
          const status = `${escapedName(task)} is answered; ${effect}.`;
          return task.question === undefined ? status : `${status}\n  ${formatQuestion(task.question)}`;
        },
      ),
    );
  add("retry", "Retry failed tasks now; resets their failures.", [
    "hermes kanban retry 12",
    "hermes kanban retry --fresh 12",
  ])
    .argument("<tasks...>")
    .option("--fresh", "start a new session instead of resuming the failed one")
    .action(
      onTasks(
        kanbanContext,
        ({ client, signal }, id, { fresh = false }: { fresh?: boolean }) =>
          client.retry(id, { fresh }, signal),
        (task, [{ fresh }]) =>
          `${escapedName(task)} is ${describeStatus(task.status)} and is retried${fresh ? " in a new session" : ""}.`,
      ),
    );
  add("reopen", "Reopen tasks that are done, archived or in review; tasks that depend on them wait again.", [
    "hermes kanban reopen 12",
  ])
    .alias("reopen-review")
    .argument("<tasks...>")
    .action(
      onTasks(kanbanContext, async ({ store, client, signal }, id) => {
        const { task } = await store.show(id, signal);
        if (task.status === "review") return client.reopenReview(id, undefined, signal);
        return (await client.reopen(id, signal)).task;
      }),
    );
}
