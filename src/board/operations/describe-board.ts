import { isAbsolute } from "node:path";
import { shorten } from "../../lib/shorten.ts";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { only, run, type Steps } from "../database/steps.ts";
import type { Board } from "../task.ts";
import { cleanText, invalid, optionalName, requireText } from "../task-text.ts";
import type { BoardRow } from "./load.ts";
import { loadBoard } from "./look.ts";

/** What is left out stays as it is; null takes it away. */
export interface BoardDescription {
  readonly name?: string;
  readonly description?: string | null;
  readonly icon?: string | null;
  readonly color?: string | null;
  /** An absolute path. */
  readonly defaultWorkdir?: string | null;
}

/** Changes what a board says of itself; its slug stays for ever. */
export function* describeBoard(change: Change, description: BoardDescription): Steps<Board> {
  requireRight(change.caller, "edit");
  const wanted = columnsOf(description);
  const board = yield* only<BoardRow>("select * from board {lock}");
  const changed = Object.entries(wanted).filter(
    ([column, value]) => board[column as keyof BoardRow] !== value,
  );
  if (changed.length > 0) {
    const sets = changed.map(([column]) => `${column} = :${column}`);
    yield* run(`update board set ${sets.join(", ")}`, Object.fromEntries(changed));
    const fields = changed.map(([column]) => column);
    change.tell({ taskId: null, kind: "board_described", payload: { fields } });
  }
  return yield* loadBoard();
}

function columnsOf({ name, description, icon, color, defaultWorkdir }: BoardDescription) {
  return {
    ...(name !== undefined && { name: requireName(name) }),
    ...(description !== undefined && { description: cleanText(description ?? "", "description") || null }),
    ...(icon !== undefined && { icon: optionalName(icon, "icon") }),
    ...(color !== undefined && { color: optionalName(color, "color") }),
    ...(defaultWorkdir !== undefined && { default_workdir: workdirOf(defaultWorkdir) }),
  };
}

function requireName(text: string): string {
  const name = requireText(text, "name", 200);
  if (/[\p{Cc}\u2028\u2029]/u.test(name)) throw invalid("The name has line breaks or control characters.");
  return name;
}

function workdirOf(text: string | null): string | null {
  const path = cleanText(text ?? "", "path", 4_096);
  if (path === "") return null;
  if (!isAbsolute(path)) throw invalid(`${JSON.stringify(shorten(path, 200))} is not a path from / on.`);
  return path;
}
