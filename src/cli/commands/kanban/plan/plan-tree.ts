import type { PlannedTask } from "../../../../board/operations/tasks/create-plan.ts";
import type { Task } from "../../../../board/task.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { cutText, textWidth } from "../../../terminal/fit-text.ts";
import type { Terminal } from "../../../terminal/terminal.ts";

/** Deeper tasks start a new tree, because their indentation would leave no room for the titles. */
const MAX_DEPTH = 12;

/** Renders a plan as a tree: each task once, below its last dependency, with its number if it was created. */
export function renderPlan(
  plan: readonly PlannedTask[],
  made: readonly Task[] | undefined,
  { columns, colours }: Pick<Terminal, "columns" | "colours">,
): string {
  const numberOf = new Map(made?.map(({ seq }, index) => [plan[index]?.key ?? "", `#${seq}`]));
  const children = new Map<string | undefined, PlannedTask[]>();
  for (const one of plan) {
    const above = one.after.at(-1);
    const siblings = children.get(above) ?? [];
    children.set(above, siblings);
    siblings.push(one);
  }
  const lines: string[] = [];
  /** The roots of further trees. */
  const roots = [...(children.get(undefined) ?? [])];
  const draw = (one: PlannedTask, lead: string, below: string, depth: number): void => {
    const { assignee, priority = 0 } = one.task;
    const isCutOff = depth === 0 && one.after.length > 0;
    const others = one.after.slice(0, isCutOff ? undefined : -1).map((key) => numberOf.get(key) ?? key);
    const marks = [
      ...(assignee ? [`@${assignee}`] : []),
      ...(priority === 0 ? [] : [`!${priority}`]),
      ...(others.length === 0 ? [] : [`(${isCutOff ? "" : "also "}after ${others.join(", ")})`]),
    ];
    const number = numberOf.get(one.key);
    const width = columns ?? Number.POSITIVE_INFINITY;
    const end = marks.length === 0 ? "" : cutText(`  ${marks.join(" ")}`, width / 2);
    const head = `${lead}${number === undefined ? "" : `${number} `}`;
    const room = Math.max(12, width - head.length - textWidth(end));
    lines.push(`${head}${cutText(escapeControls(one.task.title), room)}${colours.dim(end)}`);
    const next = children.get(one.key) ?? [];
    if (depth === MAX_DEPTH) {
      roots.push(...next);
      return;
    }
    for (const [index, child] of next.entries()) {
      const isLast = index === next.length - 1;
      draw(child, `${below}${isLast ? "└─ " : "├─ "}`, `${below}${isLast ? "   " : "│  "}`, depth + 1);
    }
  };
  for (const root of roots) draw(root, "", "", 0); // the list grows meanwhile
  return lines.join("\n");
}
