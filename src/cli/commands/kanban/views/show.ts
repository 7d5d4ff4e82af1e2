import { attachmentFolders, boardsLocation, loadWorkspaceFolders } from "../../../../app/board.ts";
import { attachmentsIn, locateAttachments } from "../../../../board/attachments/attachment-content.ts";
import { briefError } from "../../../../board/brief-error.ts";
import { tasksIn } from "../../../../board/operations/views/describe-event.ts";
import type { TaskName } from "../../../../board/operations/views/list-details.ts";
import type { TaskDetails } from "../../../../board/operations/views/load-task-details.ts";
import { logParts, runLogPath } from "../../../../board/supervisor/log/run-log.ts";
import type { Task } from "../../../../board/task.ts";
import { renderContext } from "../../../../board/tools/render-context.ts";
import { describeWorkspace, type WorkspaceFacts } from "../../../../board/workspaces/describe-workspace.ts";
import { formatTime } from "../../../../lib/time/format-time.ts";
import type { AddVerb } from "../../../define-command.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { cutText, wrapText } from "../../../terminal/fit-text.ts";
import { formatBytes } from "../../../terminal/format-bytes.ts";
import type { Terminal } from "../../../terminal/terminal.ts";
import {
  type JsonOption,
  type KanbanContext,
  type OpenBoardContext,
  showTask,
  withTasks,
} from "../kanban-context.ts";
import { describeAssignee, onBoard } from "../verb.ts";
import { lastLineOf } from "../work/log.ts";
import { formatEvent, isToday } from "./event-line.ts";
import { formatRun } from "./format-run.ts";

const EVENTS = 10;
const LABEL = 11;
const INDENT = 4;

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("show", "Show a task with its workspace, comments, runs and events.", [
    "hermes kanban show 12",
    "hermes kanban show 12 --json",
  ])
    .argument("<task>")
    .action(onBoard(kanbanContext, showOne));
  add("context", "Show the prompt context of a task's worker.", ["hermes kanban context 12"])
    .argument("<task>")
    .action(onBoard(kanbanContext, showContext));
}

async function showOne(open: OpenBoardContext, text: string, { json }: JsonOption): Promise<void> {
  const { store, signal, context } = open;
  const shown = await showTask(open, text);
  const workspace = await describeWorkspace(shown.task, await loadWorkspaceFolders(open, signal), signal);
  const doing = findDoing(open, shown);
  if (json) return context.terminal.printJson({ ...shown, workspace, doing });
  const ids = [...shown.parents, ...shown.children, ...shown.events.flatMap(tasksIn)];
  const page = { ...shown, workspace, doing, names: await store.findTaskNames(ids, signal) };
  context.terminal.print(pageOf(page, context.terminal));
}

async function showContext(open: OpenBoardContext, text: string, { json }: JsonOption): Promise<void> {
  const context = await withTasks(open, [text], (id) => open.store.context(id, open.signal));
  if (json) open.context.terminal.printJson(context);
  else {
    const files = await locateAttachments(
      { store: open.store, folders: attachmentFolders(open) },
      attachmentsIn(context),
      open.signal,
    );
    const view = { workspace: undefined, files };
    open.context.terminal.print(escapeControls(renderContext(context, view)));
  }
}

/** The last line that the worker printed on this host, else its last heartbeat note; null if no run is open. */
function findDoing({ app, store }: OpenBoardContext, { task, runs, events }: TaskDetails): string | null {
  const run = runs.find(({ ended_at }) => ended_at === null);
  if (run === undefined) return null;
  const log = logParts(runLogPath(boardsLocation(app).root, store.slug, task.id, run.id)).at(-1);
  const note = events.findLast(({ kind, run_id }) => kind === "heartbeat" && run_id === run.id)?.payload[
    "note"
  ];
  return (log === undefined ? undefined : lastLineOf(log)) ?? (typeof note === "string" ? note : null);
}

interface Page extends TaskDetails {
  readonly workspace: WorkspaceFacts;
  readonly doing: string | null;
  readonly names: ReadonlyMap<string, TaskName>;
}

function pageOf(page: Page, terminal: Terminal): string {
  const { task, comments, runs, events, names } = page;
  const width = terminal.columns ?? Number.POSITIVE_INFINITY;
  const { colours } = terminal;
  const facts = factsOf(page)
    .filter(([, value]) => value !== "")
    .map(
      ([label, value]) =>
        `${colours.dim(label.padEnd(LABEL))}${wrapAndIndent(escapeControls(value), width - LABEL, LABEL)}`,
    );
  const section = (heading: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [[colours.bold(heading), ...lines].join("\n")];
  const commentLines = comments.map(({ created_at, author, body }) => {
    const text = escapeControls(`${formatTime(created_at)}  ${author}: ${body.trimEnd()}`);
    return `  ${wrapAndIndent(text, width - INDENT, INDENT)}`;
  });
  const withDay = !events.every(isToday);
  const last = events
    .flatMap((event) => formatEvent(event, names, { withTask: false, withDay }) ?? [])
    .slice(-EVENTS);
  return [
    `${colours.bold(`#${task.seq} ${escapeControls(task.title)}`)}\n${facts.join("\n")}`,
    ...(task.body === null || task.body.trim() === "" ? [] : [escapeControls(task.body.trimEnd())]),
    ...section("Comments", commentLines),
    ...section(
      "Runs",
      runs.map((run) => cutText(`  ${escapeControls(formatRun(run))}`, width)),
    ),
    ...section(
      "Events",
      last.map((line) => cutText(`  ${line}`, width)),
    ),
  ].join("\n\n");
}

function wrapAndIndent(text: string, width: number, indent: number): string {
  return text
    .split("\n")
    .flatMap((line) => (width === Number.POSITIVE_INFINITY ? [line] : wrapText(line, width, 20)))
    .join(`\n${" ".repeat(indent)}`);
}

/** The first line of the last error; the log has the rest. */
function describeFailure({ seq, last_failure_error: error }: Task): string {
  const text = error ?? "";
  return text.includes("\n") ? `${briefError(text)}\n(more: hermes kanban log ${seq})` : briefError(text);
}

function factsOf({
  task,
  parents,
  children,
  attachments,
  workspace,
  doing,
  names,
}: Page): [string, string][] {
  const held = task.hold ? ", held" : "";
  const kind = task.status === "blocked" && task.block_kind !== null ? ` (${task.block_kind})` : "";
  const listTasks = (ids: readonly string[]): string =>
    ids
      .map((id) => names.get(id))
      .map((name) => (name === undefined ? "" : `#${name.seq} ${name.title} (${name.status})`))
      .join("\n");
  return [
    ["id", task.id],
    ["status", `${task.status}${kind}${held}, ${describeAssignee(task)}`],
    ["doing", doing ?? ""],
    ["priority", task.priority === 0 ? "" : String(task.priority)],
    ["tenant", task.tenant ?? ""],
    ["model", [task.provider_override ?? "", task.model_override ?? ""].join(" ").trim()],
    ["workspace", [task.workspace_kind, workspace.path ?? task.workspace_path ?? ""].join(" ").trim()],
    ["branch", workspace.branch ?? ""],
    ["changes", workspace.changes ?? ""],
    ["files", attachments.map(({ filename, size }) => `${filename} (${formatBytes(size)})`).join(", ")],
    ["after", listTasks(parents)],
    ["blocks", listTasks(children)],
    ["until", task.scheduled_at === null ? "" : formatTime(task.scheduled_at)],
    [
      "failures",
      task.consecutive_failures === 0 ? "" : `${task.consecutive_failures}: ${describeFailure(task)}`,
    ],
    ["created", `${formatTime(task.created_at)} by ${task.created_by}`],
    ["done", task.completed_at === null ? "" : formatTime(task.completed_at)],
    ["result", task.result ?? ""],
  ];
}
