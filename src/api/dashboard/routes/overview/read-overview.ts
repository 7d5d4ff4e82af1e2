import { hasExited } from "../../../../board/dispatcher/live-dispatchers.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { Dispatcher, OverviewAnswer, RunningTask } from "../../../contract/overview.ts";
import type { DashboardData } from "../../dashboard-parts.ts";
import type { DashboardBoard } from "../../data/board-data.ts";
import type { ProfileFacts } from "../../data/profile-data.ts";
import { toEvents } from "../boards/event-view.ts";
import { collectNeeds } from "./collect-needs.ts";
import { type DailyUsage, readSpending } from "./spending.ts";

type Problems = OverviewAnswer["problems"][number];

const READ_EVENTS = 120;
const SHOWN_EVENTS = 12;
/** The events that the overview shows; the page of a board lists all. */
const TOLD: ReadonlySet<string> = new Set([
  ...["completed", "review_requested", "changes_requested", "blocked", "block_loop_detected", "unblocked"],
  ...["gave_up", "crashed", "timed_out", "protocol_violation", "budget_exhausted", "spawn_failed"],
  ...["board_paused", "board_resumed", "archived", "decomposed"],
]);

const NO_FACTS: ProfileFacts = { problems: [], dailyCapUsd: null, hasModel: false };
const NO_USAGE: DailyUsage = { byDay: () => [] };

/** Reads the overview. A part that cannot be read is listed in `problems`. Throws `profile-not-found`. */
export async function readOverview(
  data: DashboardData,
  profile: string,
  signal: AbortSignal,
): Promise<Omit<OverviewAnswer, "at">> {
  const problems: Problems[] = [];
  const attempt = async <Result>(
    part: string,
    fallback: Result,
    read: () => Promise<Result>,
  ): Promise<Result> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof AppError) || error.code === "profile-not-found") throw error;
      problems.push({ part, message: error.message, hint: error.hint });
      return fallback;
    }
  };
  const boards: BoardPart[] = [];
  for (const slug of await attempt("boards", [], () => data.boards.list(signal))) {
    const part = await attempt<BoardPart | undefined>(`board ${slug}`, undefined, async () =>
      readBoard(await data.boards.open(slug, signal), signal),
    );
    if (part !== undefined) boards.push(part);
  }
  const needs = await attempt("needs", [], () => collectNeeds(data, signal));
  const facts = await attempt("settings", NO_FACTS, () => data.profiles.facts(profile));
  const now = Date.now();
  const spending = await attempt("spending", readSpending(NO_USAGE, now), async () =>
    readSpending((await data.profiles.sessions(profile)).usage, now),
  );
  const profiles = await attempt("profiles", [], () => data.profiles.list());
  const sandboxes = await data.sandboxes.list(profile, signal);
  const dispatchers = boards.flatMap((board) => board.dispatchers);
  const alive = dispatchers.filter(({ isAlive }) => isAlive);
  const sum = (count: (board: BoardPart) => number): number =>
    boards.reduce((total, board) => total + count(board), 0);
  return {
    profile,
    facts: {
      running: sum(({ running }) => running.length),
      places: boards[0]?.places ?? null,
      needs: needs.length,
      doneToday: sum(({ doneToday }) => doneToday),
      ready: sum(({ ready }) => ready),
      spentTodayUsd: spending.days.at(-1)?.costUsd ?? 0,
      capUsd: facts.dailyCapUsd,
      lastPassAt: alive.length === 0 ? null : Math.max(...alive.map(({ lastPassAt }) => lastPassAt)),
      dispatchersAlive: new Set(alive.map(({ host, pid }) => `${host} ${pid}`)).size,
    },
    needs,
    running: boards.flatMap(({ running }) => running),
    spending,
    sandboxes: { rows: sandboxes.rows, problem: sandboxes.problem?.message ?? null },
    dispatchers,
    lately: boards
      .flatMap(({ lately }) => lately)
      .toSorted((one, other) => other.at - one.at)
      .slice(0, SHOWN_EVENTS),
    steps: {
      model: facts.hasModel,
      profile: profiles.length > 1,
      task: boards.some(({ hasTasks }) => hasTasks),
    },
    problems,
  };
}

interface BoardPart {
  readonly running: readonly RunningTask[];
  readonly places: number | null;
  readonly doneToday: number;
  readonly ready: number;
  readonly hasTasks: boolean;
  readonly dispatchers: readonly Dispatcher[];
  readonly lately: OverviewAnswer["lately"];
}

async function readBoard(board: DashboardBoard, signal: AbortSignal): Promise<BoardPart> {
  const { store } = board;
  const { counts } = await store.cardChanges([], await board.settings(), signal);
  const open = await store.openRuns(undefined, signal);
  const calls = await board.lastCalls(
    open.map(({ run }) => run),
    signal,
  );
  const events = (await store.lastEvents(READ_EVENTS, signal)).filter(({ kind }) => TOLD.has(kind));
  return {
    running: open.map(({ taskId, seq, title, run }): RunningTask => {
      const { hostId: _, sessionId: __, ...shown } = run;
      return {
        ...{ ...shown, taskId, seq, title, status: "running" },
        board: store.slug,
        call: calls.get(run.id) ?? null,
      };
    }),
    places: (await board.settings()).caps.host,
    doneToday: await store.countDone(new Date().setHours(0, 0, 0, 0), signal),
    ready: counts.ready,
    hasTasks: Object.values(counts).some((count) => count > 0),
    dispatchers: await readDispatchers(board, signal),
    lately: (await toEvents(store, events.slice(-SHOWN_EVENTS), signal)).map((event) => ({
      ...event,
      board: store.slug,
    })),
  };
}

/** The dispatchers of a board, and whether each process may be alive. */
export async function readDispatchers({ store }: DashboardBoard, signal: AbortSignal): Promise<Dispatcher[]> {
  const known = await store.dispatchers(signal);
  return await Promise.all(
    known.map(async ({ owner, ...dispatcher }) => ({
      ...dispatcher,
      board: store.slug,
      isAlive: !(await hasExited(owner, signal)),
    })),
  );
}
