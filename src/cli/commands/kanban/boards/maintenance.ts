import { attachmentFolders, boardsLocation, loadWorkspaceFolders } from "../../../../app/board.ts";
import { tryReclaimSandboxesOfTask } from "../../../../app/environments/leftover-sandboxes.ts";
import { findContentProblem } from "../../../../board/attachments/attachment-content.ts";
import { collectAttachments } from "../../../../board/attachments/collect-attachments.ts";
import { boardPath } from "../../../../board/board-slug.ts";
import { STATUSES, type Status, TRANSITIONS } from "../../../../board/transitions.ts";
import { cleanUpWorkspaces } from "../../../../board/workspaces/clean-up-workspace.ts";
import { emptyQuarantine } from "../../../../board/workspaces/quarantine.ts";
import { AppError } from "../../../../lib/errors.ts";
import { formatCount } from "../../../../lib/text/format-count.ts";
import type { AddVerb } from "../../../define-command.ts";
import { parseCountOrZero } from "../../../parse-option.ts";
import { byPerson } from "../../../require-person.ts";
import { wrapText } from "../../../terminal/fit-text.ts";
import type { JsonOption, KanbanContext, OpenBoardContext } from "../kanban-context.ts";
import { onBoard, profileNames } from "../verb.ts";
import { collectLogs } from "./collect-logs.ts";

const DAY_MS = 86_400_000;
const WIDTH = 80; // without a terminal
const MAX_LINES = 20;
const INDENT = "    ";

/** The verbs that maintain a board. */
export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("init", "Create the board if it does not exist, and show the next step.", [
    "hermes kanban init",
  ]).action(onBoard(kanbanContext, init));
  add("pause", "Pause claims on this board; running tasks continue.", [
    "hermes kanban pause",
    "hermes kanban --board ops pause",
  ]).action(onBoard(kanbanContext, (open, options: JsonOption) => pause(open, true, options)));
  add("resume", "Resume claims on this board.", ["hermes kanban resume"]).action(
    onBoard(kanbanContext, (open, options: JsonOption) => pause(open, false, options)),
  );
  add("gc", "Delete old events and logs of finished tasks, and unused workspaces, sandboxes and files.", [
    "hermes kanban gc --event-retention-days 90 --log-retention-days 7",
  ])
    .option("--event-retention-days <days>", "retention of events", parseCountOrZero, 30)
    .option("--log-retention-days <days>", "retention of worker logs", parseCountOrZero, 30)
    .option("--file-retention-days <days>", "retention of quarantined files", parseCountOrZero, 30)
    .action(onBoard(kanbanContext, collectGarbage));
  add("repair", "Check the board and repair its counters.", ["hermes kanban repair --json"]).action(
    byPerson(kanbanContext.context, onBoard(kanbanContext, repair)),
  );
  add("help-moves", "Show which verbs move tasks between statuses.", ["hermes kanban help-moves"]).action(
    (options: JsonOption) => helpMoves(kanbanContext, options),
  );
}

async function init(open: OpenBoardContext, { json }: JsonOption): Promise<void> {
  const { terminal } = open.context;
  const { root, databaseUrl } = boardsLocation(open.app);
  const path = databaseUrl === "" ? boardPath(root, open.store.slug) : null;
  const profiles = await profileNames(open);
  if (json) return terminal.printJson({ board: open.store.slug, path, profiles });
  terminal.print(`The board ${open.store.slug} is in ${path ?? "PostgreSQL"}.`);
  terminal.print(`Profiles: ${profiles.join(", ")}`);
  terminal.print('Next: hermes kanban create "TITLE" --assignee PROFILE');
}

async function pause(
  { client, store, signal, context: { terminal } }: OpenBoardContext,
  paused: boolean,
  { json }: JsonOption,
): Promise<void> {
  const changed = await client.pause(paused, signal);
  if (json) return terminal.printJson({ ...(await store.board(signal)), changed });
  const state = paused ? "paused" : "open for claims";
  terminal.note(`The board ${store.slug} is ${changed ? "now" : "already"} ${state}.`);
}

interface GarbageOptions extends JsonOption {
  readonly eventRetentionDays: number;
  readonly logRetentionDays: number;
  readonly fileRetentionDays: number;
}

async function collectGarbage(
  open: OpenBoardContext,
  { eventRetentionDays, logRetentionDays, fileRetentionDays, json }: GarbageOptions,
): Promise<void> {
  const { client, store, app, signal, context } = open;
  const subscriptionDays = app.resolved.config.kanban.done_sub_retention_days;
  const rows = await client.collectGarbage({ eventDays: eventRetentionDays, subscriptionDays }, signal);
  const workspaces = await cleanUpWorkspaces(
    { store, location: await loadWorkspaceFolders(open, signal) },
    signal,
  );
  const tidied = workspaces.filter(({ outcome }) => outcome === "removed").length;
  for (const profile of await profileNames(open))
    for (const line of await tryReclaimSandboxesOfTask(app, { profile, taskId: "gc" }, signal))
      context.terminal.note(`hermes: note: ${line}`);
  const logs = await collectLogs(open, logRetentionDays * DAY_MS);
  const folders = attachmentFolders(open);
  const aside = await collectAttachments({ store, folders }, signal);
  const { deleted, failures } = await emptyQuarantine(folders, fileRetentionDays * DAY_MS, signal);
  for (const failure of failures) context.terminal.note(`hermes: warning: not deleted: ${failure}`);
  for (const kept of workspaces)
    if (kept.outcome === "kept" && kept.reason === "failed")
      context.terminal.note(`hermes: warning: the workspace of ${kept.taskId} is kept: ${kept.detail}`);
  const files = {
    logs_deleted: logs,
    workspaces_removed: tidied,
    files_moved_aside: aside.length,
    files_deleted: deleted,
  };
  if (json) return context.terminal.printJson({ ...rows, ...files });
  context.terminal.note(
    `Deleted ${formatCount(rows.events, "event")}, ${formatCount(rows.subscriptions, "subscription")}, ${formatCount(logs, "log")} and ${formatCount(deleted, "old file")}; moved ${formatCount(tidied, "workspace")} and ${formatCount(aside.length, "file")} aside.`,
  );
}

async function repair(open: OpenBoardContext, { json }: JsonOption): Promise<void> {
  const { store, client, signal, context } = open;
  const rows = await store.check(signal);
  const files = await damagedFiles(open);
  const found = [...rows, ...files];
  const repaired = rows.length === 0 ? 0 : await client.repairCounters(signal);
  const left = repaired === 0 ? found : [...(await store.check(signal)), ...files];
  if (json) context.terminal.printJson({ ok: left.length === 0, found, repaired, left });
  else {
    for (const finding of left) context.terminal.print(finding);
    if (repaired > 0) context.terminal.note(`Repaired ${repaired} counters.`);
    if (left.length === 0) context.terminal.note(`The board ${store.slug} is intact.`);
  }
  if (left.length === 0) return;
  if (json) return context.exit(1);
  throw new AppError("database-damaged", `The board ${store.slug} has ${left.length} problems.`, {
    hint: (await isExportable(open))
      ? "Save its data with `hermes kanban export`, and check the tasks listed above."
      : "It cannot be exported. Restore it from a backup or an earlier export.",
  });
}

async function isExportable({ store, signal }: OpenBoardContext): Promise<boolean> {
  try {
    await store.export({}, () => undefined, signal);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === "database-damaged") return false;
    throw error;
  }
}

/** The errors of attachments whose content is missing or was changed. */
async function damagedFiles(open: OpenBoardContext): Promise<readonly string[]> {
  const { store, signal } = open;
  const source = { store, folders: attachmentFolders(open) };
  const found: string[] = [];
  for (const attachment of await store.attachments(signal)) {
    const damage = await findContentProblem(source, attachment, signal);
    if (damage !== undefined) found.push(damage.message);
  }
  return found;
}

/** `kanban help-moves`: prints the table of moves that the store enforces. */
async function helpMoves({ context: { terminal } }: KanbanContext, { json }: JsonOption): Promise<void> {
  if (json) return terminal.printJson(TRANSITIONS);
  const width = terminal.columns ?? WIDTH;
  for (const { verbs, from, to, rule } of Object.values(TRANSITIONS)) {
    const [first = "", ...others] = wrapText(
      `${verbs.length === 0 ? "automatic" : verbs.join(", ")}: ${columnsOf(from)} → ${to.join(" ")}`,
      width,
      MAX_LINES,
    );
    terminal.print([terminal.colours.bold(first), ...others].join("\n"));
    for (const line of wrapText(rule, width - INDENT.length, MAX_LINES)) terminal.print(`${INDENT}${line}`);
  }
}

function columnsOf(statuses: readonly Status[]): string {
  const others = STATUSES.filter((status) => !statuses.includes(status));
  return others.length <= 2 ? `all except ${others.join(" ")}` : statuses.join(" ");
}
