import type { Command } from "commander";
import type { ShownTask } from "../../../board/operations/look.ts";
import type { Task } from "../../../board/task.ts";
import { renderContext } from "../../../board/tools/render-context.ts";
import { withExamples } from "../../define-command.ts";
import { escapeControls } from "../../escape-controls.ts";
import { moment } from "../sessions/place.ts";
import { atBoard, type Desk, type JsonOption, withTasks } from "./desk.ts";
import { eventLine } from "./event-line.ts";

const EVENTS = 10;

export function addShow(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("show", "Show a task with its comments, runs and events.")
      .argument("<task>")
      .action((id: string, options: JsonOption) => showOne(desk, id, options)),
    ["hermes kanban show t_1a2b3c4d5e6f", "hermes kanban show t_1a2b3c4d5e6f --json"],
  );
  withExamples(
    add("context", "Show what a worker is told about a task.")
      .argument("<task>")
      .action((id: string, options: JsonOption) => showContext(desk, id, options)),
    ["hermes kanban context t_1a2b3c4d5e6f"],
  );
}

async function showOne(desk: Desk, text: string, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const shown = await withTasks(open, [text], (id) => open.store.show(id, open.signal));
    if (json) return open.context.terminal.printJson(shown);
    open.context.terminal.print(escapeControls(pageOf(shown)));
  });
}

async function showContext(desk: Desk, text: string, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const context = await withTasks(open, [text], (id) => open.store.context(id, open.signal));
    if (json) open.context.terminal.printJson(context);
    else open.context.terminal.print(escapeControls(renderContext(context, undefined)));
  });
}

function pageOf({ task, parents, children, comments, runs, events }: ShownTask): string {
  const facts = factsOf(task, parents, children).filter(([, value]) => value !== "");
  const sections: string[] = [facts.map(([label, value]) => `${label.padEnd(11)}${value}`).join("\n")];
  if (task.body !== null && task.body.trim() !== "") sections.push(task.body.trimEnd());
  if (comments.length > 0) {
    const lines = comments.map((one) => `  ${moment(one.created_at)}  ${one.author}: ${indented(one.body)}`);
    sections.push(["Comments", ...lines].join("\n"));
  }
  if (runs.length > 0) {
    const lines = runs.map((run) => {
      const said = run.summary ?? run.error;
      const facts = `  ${run.id}  ${moment(run.started_at)}  ${run.profile ?? ""}  ${run.outcome ?? "running"}`;
      return said === null ? facts : `${facts}: ${indented(said)}`;
    });
    sections.push(["Runs", ...lines].join("\n"));
  }
  const last = events.slice(-EVENTS).map((event) => `  ${eventLine(event, false)}`);
  if (last.length > 0) sections.push(["Events", ...last].join("\n"));
  return sections.join("\n\n");
}

function factsOf(task: Task, parents: readonly string[], children: readonly string[]): [string, string][] {
  const held = task.hold ? " (held)" : "";
  const why = task.block_kind === null ? "" : ` (${task.block_kind})`;
  return [
    ["id", task.id],
    ["title", task.title],
    ["status", `${task.status}${task.status === "blocked" ? why : ""}${held}`],
    ["for", task.assignee ?? "nobody"],
    ["priority", task.priority === 0 ? "" : String(task.priority)],
    ["tenant", task.tenant ?? ""],
    ["workspace", [task.workspace_kind, task.workspace_path ?? "", task.branch_name ?? ""].join(" ").trim()],
    ["waits for", parents.join(" ")],
    ["before", children.join(" ")],
    ["until", task.scheduled_at === null ? "" : moment(task.scheduled_at)],
    [
      "failures",
      task.consecutive_failures === 0 ? "" : `${task.consecutive_failures}: ${task.last_failure_error}`,
    ],
    ["made", `${moment(task.created_at)} by ${task.created_by}`],
    ["done", task.completed_at === null ? "" : moment(task.completed_at)],
    ["result", task.result ?? ""],
  ];
}

function indented(text: string): string {
  return text.trimEnd().replaceAll("\n", "\n      ");
}
