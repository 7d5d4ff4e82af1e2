import type { Command } from "commander";
import { boardsPlace } from "../../../app.ts";
import { findDamage } from "../../../board/attachments/attachment-content.ts";
import { collectAttachments } from "../../../board/attachments/collect-attachments.ts";
import { boardPath } from "../../../board/board-slug.ts";
import { tidyWorkspaces } from "../../../board/workspaces/clean-up-workspace.ts";
import { emptyQuarantine } from "../../../board/workspaces/quarantine.ts";
import { AppError } from "../../../lib/errors.ts";
import { withExamples } from "../../define-command.ts";
import { requirePerson } from "../../require-person.ts";
import { attachmentPlace } from "./attachment-place.ts";
import { collectLogs } from "./collect-logs.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk } from "./desk.ts";
import { helpMoves } from "./help-moves.ts";
import { profileNames } from "./lane.ts";
import { parseDays } from "./parse.ts";
import { workspacePlace } from "./workspace-place.ts";

const DAY_MS = 86_400_000;

/** The verbs that look after a board. */
export function addUpkeep(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("init", "Make the board, if it is not there, and say what comes next.").action(
      (options: JsonOption) => init(desk, options),
    ),
    ["hermes kanban init"],
  );
  withExamples(
    add("pause", "Let nothing be claimed on this board; what runs goes on.").action((options: JsonOption) =>
      pause(desk, true, options),
    ),
    ["hermes kanban pause", "hermes kanban --board ops pause"],
  );
  withExamples(
    add("resume", "Let tasks be claimed again.").action((options: JsonOption) => pause(desk, false, options)),
    ["hermes kanban resume"],
  );
  withExamples(
    add("gc", "Delete old events and logs of finished tasks, and put away what nobody needs.")
      .option("--event-retention-days <days>", "keep events this long", parseDays, 30)
      .option("--log-retention-days <days>", "keep what workers have printed this long", parseDays, 30)
      .option("--file-retention-days <days>", "keep files that were moved aside this long", parseDays, 30)
      .action((options: GarbageOptions) => collectGarbage(desk, options)),
    ["hermes kanban gc --event-retention-days 90 --log-retention-days 7"],
  );
  withExamples(
    add("repair", "Check the board and put right what can be without guessing.").action(
      (options: JsonOption) => repair(desk, options),
    ),
    ["hermes kanban repair --json"],
  );
  withExamples(
    add("help-moves", "Show how tasks move from column to column.").action((options: JsonOption) =>
      helpMoves(desk, options),
    ),
    ["hermes kanban help-moves"],
  );
}

async function init(desk: Desk, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const { terminal } = open.context;
    const { root, databaseUrl } = boardsPlace(open.app);
    const path = databaseUrl === "" ? boardPath(root, open.store.slug) : null;
    const profiles = await profileNames(open);
    if (json) return terminal.printJson({ board: open.store.slug, path, profiles });
    terminal.print(`The board ${open.store.slug} is in ${path ?? "PostgreSQL"}.`);
    terminal.print(`Profiles that can have tasks: ${profiles.join(", ")}`);
    terminal.print('Next: hermes kanban create "TITLE" --assignee PROFILE');
  });
}

async function pause(desk: Desk, paused: boolean, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async ({ client, store, signal, context: { terminal } }) => {
    const changed = await client.pause(paused, signal);
    if (json) return terminal.printJson({ ...(await store.board(signal)), changed });
    const state = paused ? "paused" : "open for claims";
    terminal.note(`The board ${store.slug} is ${changed ? "now" : "already"} ${state}.`);
  });
}

interface GarbageOptions extends JsonOption {
  readonly eventRetentionDays: number;
  readonly logRetentionDays: number;
  readonly fileRetentionDays: number;
}

async function collectGarbage(
  desk: Desk,
  { eventRetentionDays, logRetentionDays, fileRetentionDays, json }: GarbageOptions,
): Promise<void> {
  await atBoard(desk, async (open) => {
    const { client, store, app, signal, context } = open;
    const subscriptionDays = app.resolved.config.kanban.done_sub_retention_days;
    const rows = await client.collectGarbage({ eventDays: eventRetentionDays, subscriptionDays }, signal);
    const workspaces = await tidyWorkspaces({ store, place: await workspacePlace(open) }, signal);
    const tidied = workspaces.filter(({ outcome }) => outcome === "removed").length;
    const logs = await collectLogs(open, logRetentionDays * DAY_MS);
    const place = attachmentPlace(open);
    const aside = await collectAttachments({ store, place }, signal);
    const { deleted, failures } = await emptyQuarantine(place, fileRetentionDays * DAY_MS, signal);
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
      `Deleted ${rows.events} events, ${rows.subscriptions} subscriptions, ${logs} logs and ${deleted} old files; moved ${tidied} workspaces and ${aside.length} files aside.`,
    );
  });
}

async function repair(desk: Desk, { json }: JsonOption): Promise<void> {
  requirePerson(desk);
  await atBoard(desk, async (open) => {
    const { store, client, signal, context } = open;
    const rows = await store.check(signal);
    const files = await damagedFiles(open);
    const found = [...rows, ...files];
    const repaired = rows.length === 0 ? 0 : await client.repairCounters(signal);
    const left = repaired === 0 ? found : [...(await store.check(signal)), ...files];
    if (json) context.terminal.printJson({ ok: left.length === 0, found, repaired, left });
    else {
      for (const finding of left) context.terminal.print(finding);
      if (repaired > 0) context.terminal.note(`Put ${repaired} counters right.`);
      if (left.length === 0) context.terminal.note(`The board ${store.slug} is sound.`);
    }
    if (left.length === 0) return;
    if (json) return context.exit(1);
    throw new AppError("database-damaged", `${left.length} things are wrong with the board ${store.slug}.`, {
      hint: "Save what is there with `hermes kanban export`, and look at the tasks named above.",
    });
  });
}

/** Each a sentence about an attachment whose content is gone or is not what was attached. */
async function damagedFiles(open: OpenDesk): Promise<readonly string[]> {
  const { store, signal } = open;
  const source = { store, place: attachmentPlace(open) };
  const found: string[] = [];
  for (const attachment of await store.attachments(signal)) {
    const damage = await findDamage(source, attachment, signal);
    if (damage !== undefined) found.push(damage.message);
  }
  return found;
}
