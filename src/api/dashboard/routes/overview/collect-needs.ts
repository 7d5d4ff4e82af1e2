import { hasExited } from "../../../../board/dispatcher/live-dispatchers.ts";
import type { BoardCard } from "../../../../board/operations/views/cards/card.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { Need } from "../../../contract/overview.ts";
import type { DashboardData } from "../../dashboard-parts.ts";
import type { DashboardBoard } from "../../data/board-data.ts";
import { toApproval } from "./approval-view.ts";

const NOTHING = {
  ...{ detail: "", who: null, until: null, failures: 0, task: null, approval: null, release: "" },
} as const;

/** Collects everything in this home that waits for a person, the longest wait first. */
export async function collectNeeds(data: DashboardData, signal: AbortSignal): Promise<Need[]> {
  const approvals = (await data.profiles.waiting()).map(toApproval);
  const needs: Need[] = [];
  for (const slug of await data.boards.list(signal)) {
    const board = await findBoard(data, slug, signal);
    if (board !== undefined) needs.push(...(await needsOfBoard(board, signal)));
  }
  for (const approval of approvals) {
    const { task } = approval;
    const asked = needs.findIndex(
      (need) => task !== null && need.task?.board === task.board && need.task.id === task.id,
    );
    const known = needs[asked];
    const actions: Need["actions"] = approval.kind === "approval" ? ["approve", "open"] : ["answer", "open"];
    if (known !== undefined) needs[asked] = { ...known, approval, actions };
    else
      needs.push({
        ...NOTHING,
        id: `approval:${approval.profile}:${approval.id}`,
        kind: "approval",
        title: approval.summary,
        detail: approval.reason,
        who: approval.profile,
        since: approval.askedAt,
        until: approval.endsAt,
        approval,
        actions,
      });
  }
  for (const { name } of await data.profiles.list()) needs.push(...(await needsOfProfile(data, name)));
  return needs.toSorted((one, other) => one.since - other.since);
}

/** Undefined for a board that cannot be opened; the list of boards shows why. */
async function findBoard(
  { boards }: DashboardData,
  slug: string,
  signal: AbortSignal,
): Promise<DashboardBoard | undefined> {
  try {
    return await boards.open(slug, signal);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

const READ = ["blocked", "review", "triage", "ready"] as const;

async function needsOfBoard(board: DashboardBoard, signal: AbortSignal): Promise<Need[]> {
  const { store } = board;
  const { columns } = await store.cards({ statuses: READ }, await board.settings(), signal);
  const [ready, ...waiting] = columns.toReversed();
  const needs = waiting
    .toReversed()
    .flatMap(({ cards }) => cards.flatMap((card) => needOf(store.slug, card) ?? []));
  if (ready === undefined || ready.count === 0) return needs;
  const { paused } = await store.board(signal);
  if (paused || (await isDispatched(board, signal))) return needs;
  const none = { id: `dispatcher:${store.slug}`, kind: "no-dispatcher", title: store.slug } as const;
  const since = Math.min(...ready.cards.map((card) => card.since));
  const detail = String(ready.count);
  const release = "hermes kanban daemon";
  return [...needs, { ...NOTHING, ...none, detail, since, release, actions: ["open"] }];
}

async function isDispatched({ store }: DashboardBoard, signal: AbortSignal): Promise<boolean> {
  for (const owner of await store.recentDispatchers(signal))
    if (!(await hasExited(owner, signal))) return true;
  return false;
}

function needOf(board: string, card: BoardCard): Need | undefined {
  const { id, seq, title, assignee, since, failures, notice } = card;
  const need = { ...NOTHING, id: `task:${board}:${id}`, title, since, failures, task: { board, id, seq } };
  if (card.status === "review")
    return { ...need, kind: "review", who: card.reviewer, actions: ["review", "open"] };
  if (notice === null) {
    if (card.status !== "blocked") return undefined; // in triage, it waits for a description
    return { ...need, kind: "block", who: assignee, actions: ["answer", "open"] };
  }
  const until = card.reason?.kind === "guarded" ? card.reason.until : null;
  const told = { ...need, detail: notice.text, who: assignee, until };
  if (notice.kind === "question") return { ...told, kind: "question", actions: ["answer", "open"] };
  if (notice.kind === "block") return { ...told, kind: "block", actions: ["answer", "open"] };
  const actions: Need["actions"] = notice.cause === "provider" ? ["key", "retry", "open"] : ["retry", "open"];
  return { ...told, kind: "failure", actions };
}

async function needsOfProfile({ profiles }: DashboardData, name: string): Promise<Need[]> {
  const damage = await profiles.damage(name);
  if (damage !== undefined) {
    const { message, hint } = damage;
    const need = { id: `damage:${name}`, kind: "settings", title: message, detail: hint, who: name } as const;
    return [{ ...NOTHING, ...need, since: 0, release: `hermes -p ${name} doctor`, actions: [] }];
  }
  const { problems, dailyCapUsd } = await profiles.facts(name);
  const needs: Need[] = problems.map(({ text, hint }, index) => ({
    ...NOTHING,
    ...{ id: `settings:${name}:${index}`, kind: "settings", title: text, detail: hint, who: name },
    since: 0,
    release: "hermes config check",
    actions: [],
  }));
  if (dailyCapUsd === null) return needs;
  const midnight = new Date().setHours(0, 0, 0, 0);
  const { costUsd } = (await profiles.sessions(name)).usage.between(midnight, Date.now() + 1);
  if (costUsd < dailyCapUsd) return needs;
  const reached = { id: `budget:${name}`, kind: "budget", title: name, who: name, since: midnight } as const;
  const detail = `$${costUsd.toFixed(2)} / $${dailyCapUsd}`;
  const release = "hermes config set agent.max_daily_cost_usd AMOUNT";
  const until = new Date(midnight).setDate(new Date(midnight).getDate() + 1);
  return [...needs, { ...NOTHING, ...reached, detail, release, until, actions: [] }];
}
