import type { Command } from "commander";
import { STATUSES } from "../../../../board/transitions.ts";
import { AppError } from "../../../../lib/errors.ts";
import { defineCommand, withExamples } from "../../../define-command.ts";
import { parseCount } from "../../../parse-option.ts";
import { unknownVerb } from "../../../unknown-verb.ts";
import type { JsonOption, KanbanContext, OpenBoardContext } from "../kanban-context.ts";
import { updateBoard } from "../tasks/claims.ts";
import { onBoard } from "../verb.ts";
import { type BoardColumn, renderBoard } from "./board-view.ts";

interface BoardOptions extends JsonOption {
  readonly limit: number;
}

/** `kanban board`, and `kanban` without a verb. As the default command it also receives unknown verbs. */
export function buildBoard(kanbanContext: KanbanContext, kanban: Command): Command {
  const { terminal } = kanbanContext.context;
  const board = defineCommand("board", "Show the board; same as `hermes kanban` without a verb.", terminal)
    .option("--json", "print JSON")
    .option("-n, --limit <count>", "maximum number of tasks per column", parseCount, 10)
    .allowExcessArguments()
    .action((options: BoardOptions, command: Command) => {
      const [word] = command.args;
      if (word === undefined) return onBoard(kanbanContext, showBoard)(options);
      const verbs = kanban.commands.flatMap((verb) => [verb.name(), ...verb.aliases()]);
      if (!verbs.includes(word)) throw unknownVerb("hermes kanban", word, verbs);
      const [first] = Object.keys(options).filter((name) => command.getOptionValueSource(name) === "cli");
      throw new AppError("usage-wrong", `The verb ${word} must come before its options.`, {
        hint: `Write \`hermes kanban ${word}${first === "json" ? " --json" : " …"}\`.`,
      });
    });
  return withExamples(board, ["hermes kanban", "hermes kanban board --limit 50", "watch -n 2 hermes kanban"]);
}

async function showBoard(open: OpenBoardContext, { limit, json }: BoardOptions): Promise<void> {
  const { store, signal, context } = open;
  const { terminal } = context;
  await updateBoard(open);
  const board = await store.board(signal);
  const { byStatus, latestEventId } = await store.stats(signal);
  const columns = await loadColumns(open, byStatus, limit);
  if (json) return terminal.printJson({ board, columns, latest_event_id: latestEventId });
  const paused = board.paused ? terminal.colours.yellow("  paused: no task is claimed") : "";
  terminal.print(`${terminal.colours.bold(board.name)} (${board.slug})${paused}\n`);
  const isEmpty = columns.every(({ count }) => count === 0);
  terminal.print(
    isEmpty
      ? 'There are no tasks yet. Create one with `hermes kanban create "TITLE"`.'
      : renderBoard(columns, terminal),
  );
}

function loadColumns(
  { store, signal }: OpenBoardContext,
  counts: Readonly<Record<string, number>>,
  limit: number,
): Promise<BoardColumn[]> {
  const statuses = STATUSES.filter((status) => status !== "archived");
  return Promise.all(
    statuses.map(async (status) => {
      const order = status === "done" ? "updated" : "priority"; // of the done tasks, the latest are shown
      const { tasks } = await store.list({ status, limit, order }, signal);
      return { status, count: Math.max(counts[status] ?? 0, tasks.length), tasks };
    }),
  );
}
