import type { PlannedTask } from "../../../../board/operations/tasks/create-plan.ts";
import type { Task } from "../../../../board/task.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { cutText, textWidth } from "../../../terminal/fit-text.ts";
import type { Terminal } from "../../../terminal/terminal.ts";

/** Renders a plan as a tree: each task once, below its last dependency, with its number if it was created. */
export function renderPlan(
  plan: readonly PlannedTask[],
  made: readonly Task[] | undefined,
  { columns, colours }: Pick<Terminal, "columns" | "colours">,
): string {
  const numberOf = new Map(made?.map(({ seq }, index) => [plan[index]?.key ?? "", `#${seq}`]));
  const lines: string[] = [];
  const draw = (one: PlannedTask, lead: string, below: string): void => {
    const { assignee, priority = 0 } = one.task;
    const others = one.after.slice(0, -1).map((key) => numberOf.get(key) ?? key);
    const marks = [
      ...(assignee ? [`@${assignee}`] : []),
      ...(priority === 0 ? [] : [`!${priority}`]),
      ...(others.length === 0 ? [] : [`(also after ${others.join(", ")})`]),
    ];
    const number = numberOf.get(one.key);
    const width = columns ?? Number.POSITIVE_INFINITY;
    const end = marks.length === 0 ? "" : cutText(`  ${marks.join(" ")}`, width / 2);
    const head = `${lead}${number === undefined ? "" : `${number} `}`;
    const room = Math.max(12, width - head.length - textWidth(end));
    lines.push(`${head}${cutText(escapeControls(one.task.title), room)}${colours.dim(end)}`);
    const children = plan.filter(({ after }) => after.at(-1) === one.key);
    for (const [index, child] of children.entries()) {
      const isLast = index === children.length - 1;
      draw(child, `${below}${isLast ? "└─ " : "├─ "}`, `${below}${isLast ? "   " : "│  "}`);
    }
  };
  for (const root of plan) if (root.after.length === 0) draw(root, "", "");
  return lines.join("\n");
}
