import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { BoardChange, BoardsAnswer } from "../../../../src/api/contract/boards.ts";
import type { OverviewAnswer } from "../../../../src/api/contract/overview.ts";
import { useApi, useLive } from "../../data/app-data.tsx";
import { boardsQuery, overviewQuery } from "../../data/queries.ts";
import type { LiveEvent } from "../../data/read-stream.ts";
import { useProfile } from "../../shell/profile.tsx";

const LATELY = 12;
/** Spending and sandboxes have no events; they are read again some time after a task or session has run. */
const REFRESH_MS = 15_000;

/** The Overview, kept current by events. */
export function useOverview() {
  const api = useApi();
  const live = useLive();
  const client = useQueryClient();
  const profile = useProfile();
  const overview = useQuery(overviewQuery(api, profile));
  const boards = useQuery(boardsQuery(api)).data;
  const slugs = boards?.boards.map(({ slug }) => slug).join(" ") ?? "";

  useEffect(() => {
    const { queryKey } = overviewQuery(api, profile);
    let timer = 0;
    const onEvent = ({ name, data }: LiveEvent): void => {
      if (name === "board-change") {
        const change = data as BoardChange;
        keepCounts(client, boardsQuery(api).queryKey, change);
        const ready = countReady(client.getQueryData(boardsQuery(api).queryKey));
        client.setQueryData(queryKey, (old) => old && applyChange(old, change, ready));
      }
      if (name === "session-change" || name === "board-change") {
        timer ||= window.setTimeout(() => {
          timer = 0;
          void client.invalidateQueries({ queryKey });
        }, REFRESH_MS);
      }
    };
    const following =
      slugs === "" ? [] : slugs.split(" ").map((slug) => live.follow(`board:${slug}`, null, onEvent));
    const always = live.onEvent((event) => {
      if (event.topic === "always") onEvent(event);
      if (event.name === "reset") void client.invalidateQueries({ queryKey });
    });
    return () => {
      clearTimeout(timer);
      always();
      for (const stop of following) stop();
    };
  }, [api, live, client, profile, slugs]);

  return overview;
}

/** Applies the started and ended tasks and the events of a change, without a request. */
function applyChange(old: OverviewAnswer, change: BoardChange, ready: number): OverviewAnswer {
  const { board, cards, gone, events } = change;
  const changed = new Set([...cards.map(({ id }) => id), ...gone]);
  const others = old.running.filter((row) => row.board !== board || !changed.has(row.taskId));
  const started = cards.flatMap(({ id, seq, title, status, run }) =>
    status === "running" && run ? [{ ...run, board, taskId: id, seq, title, status }] : [],
  );
  // A row that is still running keeps its place.
  const running = old.running
    .flatMap(
      (row) =>
        started.find(({ taskId }) => taskId === row.taskId && row.board === board) ??
        others.filter((other) => other === row),
    )
    .concat(
      started.filter(
        ({ taskId }) => !old.running.some((row) => row.board === board && row.taskId === taskId),
      ),
    );
  const known = new Set(old.lately.map((event) => `${event.board} ${event.id}`));
  const fresh = events.filter(({ id, text }) => text !== "" && !known.has(`${board} ${id}`));
  const done = fresh.filter(({ to }) => to === "done").length;
  const lately = [...fresh.map((event) => ({ ...event, board })).reverse(), ...old.lately].slice(0, LATELY);
  return {
    ...old,
    running,
    lately,
    facts: { ...old.facts, running: running.length, ready, doneToday: old.facts.doneToday + done },
  };
}

function keepCounts(client: QueryClient, queryKey: readonly string[], change: BoardChange): void {
  client.setQueryData<BoardsAnswer>(
    queryKey,
    (old) =>
      old && {
        ...old,
        boards: old.boards.map((board) =>
          board.slug === change.board
            ? { ...board, paused: change.paused, stats: { ...board.stats, counts: change.counts } }
            : board,
        ),
      },
  );
}

const countReady = (boards: BoardsAnswer | undefined): number =>
  boards?.boards.reduce((sum, { stats }) => sum + stats.counts.ready, 0) ?? 0;
