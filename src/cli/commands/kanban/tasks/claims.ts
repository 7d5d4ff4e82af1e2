import { loadWorkspaceFolders } from "../../../../app/board.ts";
import type { ClaimRefusal } from "../../../../board/operations/runs/claim.ts";
import type { Task } from "../../../../board/task.ts";
import { describeStatus } from "../../../../board/transitions.ts";
import type { Workspace } from "../../../../board/workspaces/workspace.ts";
import { AppError, messageOf } from "../../../../lib/errors.ts";
import { readHostFacts } from "../../../../lib/process/host-facts.ts";
import { formatTime } from "../../../../lib/time/format-time.ts";
import type { AddVerb } from "../../../define-command.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { wrapIndented } from "../../../terminal/fit-text.ts";
import { type JsonOption, type KanbanContext, type OpenBoardContext, showTask } from "../kanban-context.ts";
import { parseDuration } from "../parse.ts";
import { onBoard, onTasks } from "../verb.ts";
import { escapedName } from "../views/event-line.ts";
import { formatRun } from "../views/format-run.ts";

const RUN_INDENT = 4;

/** The verbs for runs, for users who do a task by hand. */
export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("claim", "Claim a task to do it by hand, and print its workspace.", ["hermes kanban claim 12 --ttl 2h"])
    .argument("<task>")
    .option("--ttl <duration>", "duration of the claim (default: kanban.claim_ttl_seconds)", parseDuration)
    .action(onBoard(kanbanContext, claim));
  add("release", "End the run of a task without a result; the task returns to its earlier status.", [
    "hermes kanban release 12",
  ])
    .argument("<tasks...>")
    .option("--reason <text>", "reason to record", "")
    .action(
      onTasks(
        kanbanContext,
        async ({ client, store, signal }, id, { reason }: { reason: string }) => {
          const released = await client.release(id, reason, signal);
          const { task } = await store.show(id, signal);
          if (released) return task;
          throw new AppError(
            "task-move-refused",
            `${id} is ${describeStatus(task.status)}; it is not claimed.`,
          );
        },
        (task) => `${escapedName(task)} is released; it is ${describeStatus(task.status)}.`,
      ),
    );
  add("runs", "List the runs of a task.", ["hermes kanban runs 12"])
    .argument("<task>")
    .action(onBoard(kanbanContext, listRuns));
}

/** Promotes tasks that no longer wait for anything, and reclaims expired claims made by hand. */
export async function updateBoard(open: OpenBoardContext): Promise<void> {
  if (open.caller.kind === "run") return; // a worker that reads the board does not change it
  try {
    await updateTasks(open);
  } catch (error) {
    // A read-only board is shown as it is; an unavailable database fails at the next statement.
    if (!(error instanceof AppError) || error.code !== "database-unavailable") throw error;
  }
}

async function updateTasks({ store, client, app, signal }: OpenBoardContext): Promise<void> {
  await client.recompute(app.resolved.config.kanban.failure_limit, signal);
  const expired = await store.expiredRuns(0, signal);
  // A run with a supervisor has processes that must end first; the dispatcher handles that.
  const byHand = expired.filter((run) => run.supervisor_pid === null && run.worker_pid === null);
  for (const { id } of byHand) await client.reclaimExpired(id, 0, signal);
}

async function claim(
  open: OpenBoardContext,
  text: string,
  { ttl, json }: JsonOption & { ttl?: number },
): Promise<void> {
  const { client, app, signal, context } = open;
  await updateBoard(open);
  const { task } = await showTask(open, text);
  const { id } = task;
  const { hostId } = await readHostFacts(signal);
  const leaseMs = 1_000 * (ttl ?? app.resolved.config.kanban.claim_ttl_seconds);
  const from = task.status === "review" ? "review" : "ready";
  const { claimed, refused } = await client.claim(
    { taskIds: [id], from, leaseMs, hostId, waitsForLocks: true },
    signal,
  );
  const [mine] = claimed;
  if (mine === undefined) throw await refusal(open, id, refused[0]?.reason ?? "unavailable");
  const workspace = await prepareOrRelease(open, mine.task);
  if (json) return context.terminal.printJson({ ...mine.task, run: mine.run, workspace });
  context.terminal.note(
    `${escapedName(task)} is yours until ${formatTime(mine.run.lease_until)} (run ${mine.run.id}).`,
  );
  context.terminal.print(workspace.path);
}

/** Prepares the workspace; releases the task if that fails, so that it can be claimed again. */
async function prepareOrRelease({ client, ...open }: OpenBoardContext, task: Task): Promise<Workspace> {
  try {
    const { prepareWorkspace } = await import("../../../../board/workspaces/prepare-workspace.ts");
    return await prepareWorkspace(task, await loadWorkspaceFolders(open, open.signal), open.signal);
  } catch (error) {
    if (!open.signal.aborted) await client.release(task.id, `workspace: ${messageOf(error)}`, open.signal);
    throw error;
  }
}

/** Why a claim was refused, and a hint if there is one. */
const REFUSALS: Readonly<Record<ClaimRefusal, readonly [why: string, hint?: string]>> = {
  paused: ["the board is paused", "Resume it with `hermes kanban resume`."],
  unavailable: ["it is not ready"],
  held: ["it is held", "Remove the hold with `hermes kanban hold --off`."],
  waiting: ["it pauses after a failure", "Try again later."],
  parents: ["it waits for other tasks"],
  "board-cap": ["the limit of running tasks on this board is reached"],
  "host-cap": ["the limit of running tasks on this host is reached"],
  "profile-cap": ["the limit of running tasks of its profile is reached"],
};

/** Builds the error of a refused claim from the state after the claim, so that it names the actual reason. */
async function refusal(
  { store, signal }: OpenBoardContext,
  id: string,
  reason: ClaimRefusal,
): Promise<AppError> {
  const { task, runs } = await store.show(id, signal);
  const open = runs.find((run) => run.ended_at === null);
  if (reason === "unavailable" && open !== undefined) {
    const who = open.profile === null ? "" : ` for ${open.profile}`;
    return new AppError(
      "task-running",
      `${id} is already claimed${who}, until ${formatTime(open.lease_until)}.`,
    );
  }
  const [why, hint] = REFUSALS[reason];
  const code = reason === "parents" ? "task-parents-open" : "task-move-refused";
  const where = reason === "unavailable" ? `${why} but ${task.status}` : why;
  return new AppError(code, `${id} cannot be claimed: ${where}.`, hint === undefined ? {} : { hint });
}

async function listRuns(open: OpenBoardContext, text: string, { json }: JsonOption): Promise<void> {
  const { terminal } = open.context;
  const { task, runs } = await showTask(open, text);
  if (json) return terminal.printJson(runs);
  if (runs.length === 0) return terminal.print(`${escapedName(task)} has no runs yet.`);
  for (const run of runs)
    terminal.print(wrapIndented(escapeControls(formatRun(run)), terminal.columns, RUN_INDENT));
}
