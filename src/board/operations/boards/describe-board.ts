import { isAbsolute } from "node:path";
import { shorten } from "../../../lib/text/shorten.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { only, run, type Steps } from "../../database/steps.ts";
import type { Board } from "../../task.ts";
import { cleanText, invalidInput, optionalName, requireLine } from "../../task-text.ts";
import { loadBoard } from "../views/board-stats.ts";
import type { BoardRow } from "../views/rows.ts";

/** Omitted fields stay unchanged; null clears a field. */
export interface BoardDescription {
  readonly name?: string;
  readonly description?: string | null;
  readonly icon?: string | null;
  readonly color?: string | null;
  /** An absolute path. */
  readonly defaultWorkdir?: string | null;
}

/** Changes the name and description fields of a board; its slug never changes. */
export function* describeBoard(transaction: BoardTransaction, description: BoardDescription): Steps<Board> {
  requireRight(transaction.caller, "edit");
  const wanted = columnsOf(description);
  const board = yield* only<BoardRow>("select * from board {lock}");
  const changed = Object.entries(wanted).filter(
    ([column, value]) => board[column as keyof BoardRow] !== value,
  );
  if (changed.length > 0) {
    const sets = changed.map(([column]) => `${column} = :${column}`);
    yield* run(`update board set ${sets.join(", ")}`, Object.fromEntries(changed));
    const fields = changed.map(([column]) => column);
    transaction.recordEvent({ taskId: null, kind: "board_described", payload: { fields } });
  }
  return yield* loadBoard();
}

function columnsOf({ name, description, icon, color, defaultWorkdir }: BoardDescription) {
  return {
    ...(name !== undefined && { name: requireLine(name, "name", 200) }),
    ...(description !== undefined && { description: cleanText(description ?? "", "description") || null }),
    ...(icon !== undefined && { icon: optionalName(icon, "icon") }),
    ...(color !== undefined && { color: optionalName(color, "color") }),
    ...(defaultWorkdir !== undefined && { default_workdir: workdirOf(defaultWorkdir) }),
  };
}

function workdirOf(text: string | null): string | null {
  const path = cleanText(text ?? "", "path", 4_096);
  if (path === "") return null;
  if (!isAbsolute(path)) throw invalidInput(`${JSON.stringify(shorten(path, 200))} is not an absolute path.`);
  return path;
}
