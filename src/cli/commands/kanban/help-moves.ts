import { STATUSES, type Status, TRANSITIONS } from "../../../board/transitions.ts";
import { wrapText } from "../../fit-text.ts";
import type { Desk, JsonOption } from "./desk.ts";

const WIDTH = 80; // where nobody says how wide a line may be
const MOST_LINES = 20;
const INDENT = "    ";

/** `kanban help-moves`: the table of moves that the store goes by, in lines that fit. */
export async function helpMoves({ context: { terminal } }: Desk, { json }: JsonOption): Promise<void> {
  if (json) return terminal.printJson(TRANSITIONS);
  const width = terminal.columns ?? WIDTH;
  for (const { verbs, from, to, rule } of Object.values(TRANSITIONS)) {
    const [first = "", ...others] = wrapText(
      `${verbs.length === 0 ? "by itself" : verbs.join(", ")}: ${columnsOf(from)} → ${to.join(" ")}`,
      width,
      MOST_LINES,
    );
    terminal.print([terminal.colours.bold(first), ...others].join("\n"));
    for (const line of wrapText(rule, width - INDENT.length, MOST_LINES)) terminal.print(`${INDENT}${line}`);
  }
}

function columnsOf(statuses: readonly Status[]): string {
  const others = STATUSES.filter((status) => !statuses.includes(status));
  return others.length <= 2 ? `all but ${others.join(" ")}` : statuses.join(" ");
}
