import type { Task } from "../../../../board/task.ts";
import type { Status } from "../../../../board/transitions.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { cutText, textWidth, wrapText } from "../../../terminal/fit-text.ts";
import type { Terminal } from "../../../terminal/terminal.ts";

/** A column of the board with its first tasks. */
export interface BoardColumn {
  readonly status: Status;
  readonly count: number;
  readonly tasks: readonly Task[];
}

type Screen = Pick<Terminal, "columns" | "colours">;
type Style = (text: string) => string;
interface Line {
  readonly text: string;
  readonly style: Style;
}

const NARROWEST = 20;
const WIDEST = 44;
const GAP = 2;
const TITLE_LINES = 2;

/** Renders the columns that have tasks: side by side if the terminal is wide enough, else below each other. */
export function renderBoard(columns: readonly BoardColumn[], screen: Screen): string {
  const shown = columns.filter(({ count }) => count > 0);
  const room = screen.columns ?? 0; // a pipe has no width
  const width = Math.min(WIDEST, Math.floor((room - GAP * (shown.length - 1)) / Math.max(1, shown.length)));
  if (shown.length > 1 && width >= NARROWEST) return sideBySide(shown, width, screen);
  return shown.map((column) => section(column, screen)).join("\n\n");
}

function sideBySide(columns: readonly BoardColumn[], width: number, { colours }: Screen): string {
  const plain: Style = (text) => text;
  const stacks = columns.map(({ status, count, tasks }): Line[] => {
    const style = styleOf(status, colours);
    return [
      { text: headingOf(status, count), style: (text) => colours.bold(style(text)) },
      { text: "─".repeat(width), style: colours.dim },
      ...tasks.flatMap((task) => [
        ...wrapText(escapeControls(task.title), width, TITLE_LINES).map((text) => ({ text, style: plain })),
        { text: cutText([`#${task.seq}`, ...marksOf(task)].join(" "), width), style: colours.dim },
        { text: "", style: plain },
      ]),
      ...moreOf(count, tasks).map((text) => ({ text, style: colours.dim })),
    ];
  });
  const height = Math.max(...stacks.map((stack) => stack.length));
  const rows = Array.from({ length: height }, (_, row) => {
    const cells = stacks.map((stack) => {
      const { text, style } = stack[row] ?? { text: "", style: plain };
      return style(text) + " ".repeat(Math.max(0, width - textWidth(text)));
    });
    return cells.join(" ".repeat(GAP)).trimEnd();
  });
  return rows.join("\n").trimEnd();
}

function section({ status, count, tasks }: BoardColumn, { columns, colours }: Screen): string {
  const heading = colours.bold(styleOf(status, colours)(headingOf(status, count)));
  const lines = tasks.map((task) => {
    const marks = marksOf(task).join(" ");
    const end = marks === "" ? "" : `  ${marks}`;
    const key = columns === undefined ? `${task.id}  #${task.seq}` : `#${task.seq}`; // scripts use ids
    const room =
      columns === undefined ? Number.POSITIVE_INFINITY : columns - 2 - key.length - 2 - textWidth(end);
    const title = cutText(escapeControls(task.title), Math.max(10, room));
    return `  ${colours.dim(key)}  ${title}${colours.dim(end)}`;
  });
  return [heading, ...lines, ...moreOf(count, tasks).map((text) => `  ${colours.dim(text)}`)].join("\n");
}

function headingOf(status: Status, count: number): string {
  return `${status.toUpperCase()} ${count}`;
}

function marksOf({ assignee, priority, hold }: Task): string[] {
  return [
    ...(priority === 0 ? [] : [`p${priority}`]),
    ...(assignee === null ? [] : [`@${assignee}`]),
    ...(hold ? ["held"] : []),
  ];
}

function moreOf(count: number, tasks: readonly Task[]): string[] {
  return count > tasks.length ? [`… ${count - tasks.length} more`] : [];
}

function styleOf(status: Status, colours: Terminal["colours"]): Style {
  if (status === "running") return colours.cyan;
  if (status === "blocked") return colours.red;
  if (status === "ready" || status === "review") return colours.yellow;
  return status === "done" ? colours.green : (text) => text;
}
