import type { Command } from "commander";
import { boardsPlace } from "../../../app.ts";
import { attachmentsIn, locateAttachments } from "../../../board/attachments/attachment-content.ts";
import type { TaskName } from "../../../board/operations/glance.ts";
import type { ShownTask } from "../../../board/operations/look.ts";
import type { Run } from "../../../board/task.ts";
import { renderContext } from "../../../board/tools/render-context.ts";
import { logParts, runLogPath } from "../../../board/worker/run-log.ts";
import { describeWorkspace, type WorkspaceFacts } from "../../../board/workspaces/describe-workspace.ts";
import { formatTime as moment } from "../../../lib/format-time.ts";
import { withExamples } from "../../define-command.ts";
import { escapeControls } from "../../escape-controls.ts";
import { cutText, wrapText } from "../../fit-text.ts";
import { showBytes } from "../../show-bytes.ts";
import type { Terminal } from "../../terminal.ts";
import { attachmentPlace } from "./attachment-place.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk, withTasks } from "./desk.ts";
import { eventLine, outcomeWords, tasksIn } from "./event-line.ts";
import { ageOf } from "./task-lines.ts";
import { lastLineOf } from "./work/last-line.ts";
import { workspacePlace } from "./workspace-place.ts";

const EVENTS = 10;
const LABEL = 11;
const INDENT = 4;

export function addShow(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("show", "Show a task with its workspace, comments, runs and events.")
      .argument("<task>")
      .action((id: string, options: JsonOption) => showOne(desk, id, options)),
    ["hermes kanban show 12", "hermes kanban show 12 --json"],
  );
  withExamples(
    add("context", "Show what a worker is told about a task.")
      .argument("<task>")
      .action((id: string, options: JsonOption) => showContext(desk, id, options)),
    ["hermes kanban context 12"],
  );
}

async function showOne(desk: Desk, text: string, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const { store, signal, context } = open;
    const shown = await withTasks(open, [text], (id) => store.show(id, signal));
    const workspace = await describeWorkspace(shown.task, await workspacePlace(open), signal);
    const doing = findDoing(open, shown);
    if (json) return context.terminal.printJson({ ...shown, workspace, doing });
    const ids = [...shown.parents, ...shown.children, ...shown.events.flatMap(tasksIn)];
    const page = { ...shown, workspace, doing, names: await store.nameTasks(ids, signal) };
    context.terminal.print(pageOf(page, context.terminal));
  });
}

async function showContext(desk: Desk, text: string, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const context = await withTasks(open, [text], (id) => open.store.context(id, open.signal));
    if (json) open.context.terminal.printJson(context);
    else {
      const files = await locateAttachments(
        { store: open.store, place: attachmentPlace(open) },
        attachmentsIn(context),
        open.signal,
      );
      const view = { workspace: undefined, files };
      open.context.terminal.print(escapeControls(renderContext(context, view)));
    }
  });
}

/** What the worker printed last on this host, else what it last said of itself; null unless it is running. */
function findDoing({ app, store }: OpenDesk, { task, runs, events }: ShownTask): string | null {
  const run = runs.find(({ ended_at }) => ended_at === null);
  if (run === undefined) return null;
  const log = logParts(runLogPath(boardsPlace(app).root, store.slug, task.id, run.id)).at(-1);
  const note = events.findLast(({ kind, run_id }) => kind === "heartbeat" && run_id === run.id)?.payload[
    "note"
  ];
  return (log === undefined ? undefined : lastLineOf(log)) ?? (typeof note === "string" ? note : null);
}

interface Page extends ShownTask {
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
        `${colours.dim(label.padEnd(LABEL))}${wrapped(escapeControls(value), width - LABEL, LABEL)}`,
    );
  const section = (heading: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [[colours.bold(heading), ...lines].join("\n")];
  const said = comments.map(({ created_at, author, body }) => {
    const text = escapeControls(`${moment(created_at)}  ${author}: ${body.trimEnd()}`);
    return `  ${wrapped(text, width - INDENT, INDENT)}`;
  });
  const last = events.flatMap((event) => eventLine(event, names, { withTask: false }) ?? []).slice(-EVENTS);
  return [
    `${colours.bold(`#${task.seq} ${escapeControls(task.title)}`)}\n${facts.join("\n")}`,
    ...(task.body === null || task.body.trim() === "" ? [] : [escapeControls(task.body.trimEnd())]),
    ...section("Comments", said),
    ...section(
      "Runs",
      runs.map((run) => cutText(`  ${escapeControls(runLine(run))}`, width)),
    ),
    ...section(
      "Events",
      last.map((line) => cutText(`  ${line}`, width)),
    ),
  ].join("\n\n");
}

function wrapped(text: string, width: number, indent: number): string {
  return text
    .split("\n")
    .flatMap((line) => (width === Number.POSITIVE_INFINITY ? [line] : wrapText(line, width, 20)))
    .join(`\n${" ".repeat(indent)}`);
}

/** A run with the time it took and what it cost. */
function runLine(run: Run): string {
  const took = ageOf((run.ended_at ?? Date.now()) - run.started_at);
  const cost = run.cost_micros === 0 ? [] : [`$${(run.cost_micros / 1_000_000).toFixed(4)}`];
  const tokens = run.input_tokens + run.output_tokens;
  const used = tokens === 0 ? [] : [`${tokens} tokens`];
  const facts = [`run ${run.id}`, moment(run.started_at), run.profile ?? "by hand", took, ...cost, ...used];
  const said = (run.summary ?? run.error ?? "").split("\n", 1)[0];
  return `${facts.join("  ")}  ${outcomeWords(run.outcome)}${said ? `: ${said}` : ""}`;
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
  const listed = (ids: readonly string[]): string =>
    ids
      .map((id) => names.get(id))
      .map((name) => (name === undefined ? "" : `#${name.seq} ${name.title} (${name.status})`))
      .join("\n");
  return [
    ["id", task.id],
    ["status", `${task.status}${kind}${held}, for ${task.assignee ?? "nobody"}`],
    ["doing", doing ?? ""],
    ["priority", task.priority === 0 ? "" : String(task.priority)],
    ["tenant", task.tenant ?? ""],
    ["model", [task.provider_override ?? "", task.model_override ?? ""].join(" ").trim()],
    ["workspace", [task.workspace_kind, workspace.path ?? task.workspace_path ?? ""].join(" ").trim()],
    ["branch", workspace.branch ?? ""],
    ["changes", workspace.changes ?? ""],
    ["files", attachments.map(({ filename, size }) => `${filename} (${showBytes(size)})`).join(", ")],
    ["waits for", listed(parents)],
    ["before", listed(children)],
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
