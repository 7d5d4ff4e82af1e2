import type { Command } from "commander";
import { STATUSES } from "../../../board/transitions.ts";
import { AppError } from "../../../lib/errors.ts";
import { withExamples } from "../../define-command.ts";
import { unknownVerb } from "../../unknown-verb.ts";
import { type BoardColumn, renderBoard } from "./board-view.ts";
import { settle } from "./claims.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk } from "./desk.ts";
import { parseCount } from "./parse.ts";

interface BoardOptions extends JsonOption {
  readonly limit: number;
}

/** `kanban board`, and `kanban` alone. Being the default, it also gets the words that are no verb. */
export function buildBoard(desk: Desk, board: Command, verbs: () => readonly string[]): Command {
  return withExamples(
    board
      .option("-n, --limit <count>", "how many tasks of each column", parseCount, 10)
      .allowExcessArguments()
      .action((options: BoardOptions, command: Command) => {
        const [word] = command.args;
        if (word !== undefined && verbs().includes(word)) {
          const [first = ""] = Object.keys(options).filter(
            (name) => command.getOptionValueSource(name) === "cli",
          );
          throw new AppError("usage-wrong", `The verb ${word} stands before its options.`, {
            hint: `Write \`hermes kanban ${word}${first === "json" ? " --json" : " …"}\`.`,
          });
        }
        if (word !== undefined) throw unknownVerb("hermes kanban", word, verbs());
        return showBoard(desk, options);
      }),
    ["hermes kanban", "hermes kanban board --limit 50", "watch -n 2 hermes kanban"],
  );
}

async function showBoard(desk: Desk, { limit, json }: BoardOptions): Promise<void> {
  await atBoard(desk, async (open) => {
    const { store, signal, context } = open;
    const { terminal } = context;
    await settle(open);
    const board = await store.board(signal);
    const { byStatus, latestEventId } = await store.stats(signal);
    const columns = await loadColumns(open, byStatus, limit);
    if (json) return terminal.printJson({ board, columns, latest_event_id: latestEventId });
    const paused = board.paused ? terminal.colours.yellow("  paused: nothing is claimed") : "";
    terminal.print(`${terminal.colours.bold(board.name)} (${board.slug})${paused}\n`);
    const isEmpty = columns.every(({ count }) => count === 0);
    terminal.print(
      isEmpty
        ? 'There are no tasks yet. Make one with `hermes kanban create "TITLE"`.'
        : renderBoard(columns, terminal),
    );
  });
}

function loadColumns(
  { store, signal }: OpenDesk,
  counts: Readonly<Record<string, number>>,
  limit: number,
): Promise<BoardColumn[]> {
  const statuses = STATUSES.filter((status) => status !== "archived");
  return Promise.all(
    statuses.map(async (status) => {
      const order = status === "done" ? "updated" : "priority"; // of what is done, the latest matters
      const { tasks } = await store.list({ status, limit, order }, signal);
      return { status, count: Math.max(counts[status] ?? 0, tasks.length), tasks };
    }),
  );
}
