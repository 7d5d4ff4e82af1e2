import { hasExited } from "../../../../board/dispatcher/live-dispatchers.ts";
import type { BoardStats } from "../../../../board/operations/views/board-stats.ts";
import type { Board as StoredBoard } from "../../../../board/task.ts";
import { AppError } from "../../../../lib/errors.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import {
  type Board,
  type BoardAnswer,
  type BoardsAnswer,
  boardAnswerSchema,
  boardEditSchema,
  boardsAnswerSchema,
  newBoardSchema,
} from "../../../contract/boards.ts";
import type { Position } from "../../../contract/position.ts";
import type { DashboardParts } from "../../dashboard-parts.ts";
import { type DashboardRoute, dashboardRoute } from "../../dashboard-route.ts";
import type { DashboardBoard } from "../../data/board-data.ts";
import { MOVE_RULES } from "./move-rules.ts";
import { requireBoard } from "./require-board.ts";

/** The boards themselves. */
export const boardRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "GET",
    path: "/api/boards",
    scope: "read",
    summary: "List the boards with their counts, and the moves that tasks can make",
    answer: boardsAnswerSchema,
    handle: ({ disconnected }, parts) => listBoards(parts, disconnected),
  }),
  dashboardRoute({
    method: "POST",
    path: "/api/boards",
    scope: "work",
    summary: "Create a board",
    body: newBoardSchema,
    answer: boardAnswerSchema,
    status: 201,
    async handle({ body, disconnected }, parts) {
      if (!(await parts.data.boards.create(body, disconnected)))
        throw new AppError("board-not-empty", `The board ${body.slug} already exists.`, {
          hint: "Choose another name.",
        });
      const board = await parts.data.boards.open(body.slug, disconnected);
      return describeBoard(board, parts, disconnected);
    },
  }),
  dashboardRoute({
    method: "GET",
    path: "/api/boards/:board",
    scope: "read",
    summary: "Describe a board with its counts, assignees, tenants and limits",
    answer: boardAnswerSchema,
    handle: async (call, parts) => describeBoard(await requireBoard(call, parts), parts, call.disconnected),
  }),
  dashboardRoute({
    method: "PATCH",
    path: "/api/boards/:board",
    scope: "work",
    summary: "Change the name and the details of a board",
    body: boardEditSchema,
    answer: boardAnswerSchema,
    async handle(call, parts) {
      const board = await requireBoard(call, parts);
      const { defaultWorkdir } = call.body;
      if (defaultWorkdir) await board.requireRepository(defaultWorkdir, call.disconnected);
      await board.client.describeBoard(withoutUndefined(call.body), call.disconnected);
      return describeBoard(board, parts, call.disconnected);
    },
  }),
  dashboardRoute({
    method: "DELETE",
    path: "/api/boards/:board",
    scope: "work",
    summary: "Remove a board without running tasks; its data is kept",
    async handle({ params, disconnected }, { data }) {
      await data.boards.remove(params["board"] ?? "", disconnected);
      return undefined;
    },
  }),
  ...([true, false] as const).map((paused) =>
    dashboardRoute({
      method: "POST",
      path: `/api/boards/:board/${paused ? "pause" : "resume"}`,
      scope: "work",
      summary: paused ? "Start no further tasks of a board" : "Start tasks of a board again",
      answer: boardAnswerSchema,
      async handle(call, parts) {
        const board = await requireBoard(call, parts);
        await board.client.pause(paused, call.disconnected);
        return describeBoard(board, parts, call.disconnected);
      },
    }),
  ),
];

async function listBoards({ data, live }: DashboardParts, signal: AbortSignal): Promise<BoardsAnswer> {
  const at = await live.watch("always");
  const boards: BoardsAnswer["boards"] = [];
  const problems: BoardsAnswer["problems"] = [];
  for (const slug of await data.boards.list(signal)) {
    try {
      const { store } = await data.boards.open(slug, signal);
      boards.push({ ...toBoard(await store.board(signal)), stats: toStats(await store.stats(signal)) });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === "board-not-found") continue; // removed in the meantime
      problems.push({ slug, message: error.message, hint: error.hint });
    }
  }
  return { boards, problems, moves: [...MOVE_RULES], at };
}

async function describeBoard(
  board: DashboardBoard,
  { live }: DashboardParts,
  signal: AbortSignal,
): Promise<BoardAnswer> {
  const { store } = board;
  const at: Position = await live.watch(`board:${store.slug}`);
  const stats = await store.stats(signal);
  const profiles = await board.profiles();
  const names = new Set([...profiles, ...Object.keys(stats.byAssignee)]);
  names.delete("");
  const alive = await Promise.all(
    (await store.recentDispatchers(signal)).map(async (owner) => !(await hasExited(owner, signal))),
  );
  return {
    ...toBoard(await store.board(signal)),
    stats: toStats(stats),
    assignees: [...names].toSorted().map((name) => ({
      name,
      kind: profiles.includes(name) ? "profile" : "lane",
      open: stats.byAssignee[name] ?? 0,
    })),
    tenants: [...(await store.tenants(signal))],
    caps: (await board.settings()).caps,
    dispatchers: alive.filter((isAlive) => isAlive).length,
    at,
  };
}

function toBoard({ default_workdir, created_at, ...board }: StoredBoard): Board {
  return { ...board, defaultWorkdir: default_workdir, createdAt: created_at };
}

function toStats({ byStatus, oldestReadyAgeSeconds, costMicros }: BoardStats) {
  return { counts: byStatus, oldestReadyAgeSeconds, costUsd: costMicros / 1_000_000 };
}
