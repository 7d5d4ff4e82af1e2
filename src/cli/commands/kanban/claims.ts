import type { Command } from "commander";
import type { ClaimRefusal } from "../../../board/operations/claim.ts";
import type { Run, Task } from "../../../board/task.ts";
import { prepareWorkspace } from "../../../board/workspaces/prepare-workspace.ts";
import type { Workspace } from "../../../board/workspaces/workspace.ts";
import { AppError, type ErrorCode, messageOf } from "../../../lib/errors.ts";
import { formatTime as moment } from "../../../lib/format-time.ts";
import { readHostFacts } from "../../../lib/host-facts.ts";
import { withExamples } from "../../define-command.ts";
import { escapeControls } from "../../escape-controls.ts";
import { renderTable } from "../../table.ts";
import { changeTasks } from "./change-tasks.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk, withTasks } from "./desk.ts";
import { outcomeWords, shownName } from "./event-line.ts";
import { parseDuration } from "./parse.ts";
import { workspacePlace } from "./workspace-place.ts";

/** The verbs about runs, for a person who does a task by hand. */
export function addClaims(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("claim", "Take a task to do it by hand, and print the folder to work in.")
      .argument("<task>")
      .option("--ttl <duration>", "how long it is yours (default: kanban.claim_ttl_seconds)", parseDuration)
      .action((id: string, options: JsonOption & { ttl?: number }) => claim(desk, id, options)),
    ["hermes kanban claim 12 --ttl 2h"],
  );
  withExamples(
    add("release", "End the run of a task without a result; the task goes back to where it was claimed.")
      .argument("<tasks...>")
      .option("--reason <text>", "why", "")
      .action((ids: readonly string[], options: JsonOption & { reason: string }) =>
        release(desk, ids, options),
      ),
    ["hermes kanban release 12"],
  );
  withExamples(
    add("runs", "List the attempts at a task.")
      .argument("<task>")
      .action((id: string, options: JsonOption) => listRuns(desk, id, options)),
    ["hermes kanban runs 12"],
  );
}

/** Lets tasks go on that wait for nothing any more, and takes back claims of people that have expired. */
export async function settle(open: OpenDesk): Promise<void> {
  if (open.caller.kind === "run") return; // a worker that only looks changes nothing
  try {
    await putInOrder(open);
  } catch (error) {
    // What can only be read is shown as it is; a database that is really gone fails at the next statement.
    if (!(error instanceof AppError) || error.code !== "database-unavailable") throw error;
  }
}

async function putInOrder({ store, client, app, signal }: OpenDesk): Promise<void> {
  await client.recompute(app.resolved.config.kanban.failure_limit, signal);
  const expired = await store.expiredRuns(0, signal);
  // A run with a supervisor has processes that must end first, which is the dispatcher's to see to.
  const byHand = expired.filter((run) => run.supervisor_pid === null && run.worker_pid === null);
  for (const { id } of byHand) await client.reclaimExpired(id, 0, signal);
}

async function claim(desk: Desk, text: string, { ttl, json }: JsonOption & { ttl?: number }): Promise<void> {
  await atBoard(desk, async (open) => {
    const { store, client, app, signal, context } = open;
    await settle(open);
    const { task } = await withTasks(open, [text], (one) => store.show(one, signal));
    const { id } = task;
    const { hostId } = await readHostFacts(signal);
    const leaseMs = 1_000 * (ttl ?? app.resolved.config.kanban.claim_ttl_seconds);
    const from = task.status === "review" ? "review" : "ready";
    const { claimed, refused } = await client.claim(
      { wanted: [id], from, leaseMs, hostId, patient: true },
      signal,
    );
    const [mine] = claimed;
    if (mine === undefined) throw await refusal(open, id, refused[0]?.reason ?? "unavailable");
    const workspace = await prepareOrRelease(open, mine.task);
    if (json) return context.terminal.printJson({ ...mine.task, run: mine.run, workspace });
    context.terminal.note(
      `${shownName(task)} is yours until ${moment(mine.run.lease_until)} (run ${mine.run.id}).`,
    );
    context.terminal.print(workspace.path);
  });
}

/** The folder to work in; a task that can have none is not kept from others. */
async function prepareOrRelease({ client, ...open }: OpenDesk, task: Task): Promise<Workspace> {
  try {
    return await prepareWorkspace(task, await workspacePlace(open), open.signal);
  } catch (error) {
    if (!open.signal.aborted) await client.release(task.id, `workspace: ${messageOf(error)}`, open.signal);
    throw error;
  }
}

const REFUSALS: Readonly<Record<ClaimRefusal, { code: ErrorCode; why: string; hint?: string }>> = {
  paused: {
    code: "task-move-refused",
    why: "the board is paused",
    hint: "Go on with `hermes kanban resume`.",
  },
  unavailable: { code: "task-move-refused", why: "it is not ready" },
  held: { code: "task-move-refused", why: "it is held", hint: "Let it go with `hermes kanban hold --off`." },
  waiting: { code: "task-move-refused", why: "it pauses after a failure", hint: "Try again later." },
  parents: { code: "task-parents-open", why: "it waits for other tasks" },
  "board-cap": { code: "task-move-refused", why: "enough tasks of this board run" },
  "host-cap": { code: "task-move-refused", why: "enough tasks run on this host" },
  "profile-cap": { code: "task-move-refused", why: "enough tasks of its profile run" },
};

/** Looked up after the claim, so that it says what really stood in its way. */
async function refusal({ store, signal }: OpenDesk, id: string, reason: ClaimRefusal): Promise<AppError> {
  const { task, runs } = await store.show(id, signal);
  const open = runs.find((run) => run.ended_at === null);
  if (reason === "unavailable" && open !== undefined) {
    const who = open.profile === null ? "" : ` for ${open.profile}`;
    return new AppError("task-running", `${id} is claimed already${who}, until ${moment(open.lease_until)}.`);
  }
  const { code, why, hint } = REFUSALS[reason];
  const where = reason === "unavailable" ? `${why} but ${task.status}` : why;
  return new AppError(code, `${id} cannot be claimed: ${where}.`, hint === undefined ? {} : { hint });
}

async function release(
  desk: Desk,
  ids: readonly string[],
  { reason, ...options }: JsonOption & { reason: string },
): Promise<void> {
  await atBoard(desk, (open) => {
    const change = async (id: string): Promise<Task> => {
      const released = await open.client.release(id, reason, open.signal);
      const { task } = await open.store.show(id, open.signal);
      if (released) return task;
      throw new AppError("task-move-refused", `${id} is ${task.status}; nobody has claimed it.`);
    };
    const say = (task: Task) => `${shownName(task)} is released; it is ${task.status}.`;
    return changeTasks(open, { ids, change, say }, options);
  });
}

async function listRuns(desk: Desk, text: string, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const { terminal } = open.context;
    const { task, runs } = await withTasks(open, [text], (id) => open.store.show(id, open.signal));
    if (json) return terminal.printJson(runs);
    if (runs.length === 0) return terminal.print(`${shownName(task)} has not been tried yet.`);
    terminal.print(
      renderTable(["RUN", "BEGUN", "ENDED", "BY", "OUTCOME", "SUMMARY"], runs.map(cellsOf), terminal),
    );
  });
}

function cellsOf({ id, started_at, ended_at, profile, outcome, summary, error }: Run): readonly string[] {
  const said = escapeControls(summary ?? error ?? "").split("\n", 1)[0] ?? "";
  const ended = ended_at === null ? "" : moment(ended_at);
  return [String(id), moment(started_at), ended, profile ?? "", outcomeWords(outcome), said];
}
