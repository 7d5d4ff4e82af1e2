import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { BoardChange, CardsAnswer, CardsQuery, Status } from "../../../../src/api/contract/boards.ts";
import { useAppData } from "../../data/app-data.tsx";
import { BoardStore } from "../../data/board-store.ts";
import { type BoardSearch, cardsQueryOf, matcherOf } from "./model/board-search.ts";

interface BoardCards {
  /** The cards to show; after a change of the filter, the old ones until the new ones have arrived. */
  readonly store: BoardStore;
  /** Whether the cards are those of the current filter. */
  readonly isCurrent: boolean;
  readonly error: unknown;
  retry(): void;
  loadMore(status: Status): void;
}

interface Shown {
  readonly slug: string;
  readonly key: string;
  readonly store: BoardStore;
}

/** Reads the cards of a board once and keeps them current by events. Late answers for another board or filter are ignored. */
export function useBoardCards(slug: string, search: BoardSearch, statuses: readonly Status[]): BoardCards {
  const { api, live } = useAppData();
  const query = cardsQueryOf(search);
  const key = cardsPath(slug, { ...query, status: statuses.join(",") });
  const empty = useMemo(() => new BoardStore({ schedule: queueMicrotask }), []);
  const [shown, setShown] = useState<Shown>();
  const [problem, setProblem] = useState<{ readonly key: string; readonly error: unknown }>();
  const [round, setRound] = useState(0);
  const latest = useRef({ search, query });
  latest.current = { search, query };
  const reading = useRef(new Map<string, Promise<void>>());

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says everything about the query
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    const store = new BoardStore({
      schedule: nextFrame,
      matches: matcherOf(latest.current.search),
      order: latest.current.query.order ?? "board",
    });
    let stop: (() => void) | undefined;
    let isReading = false;

    async function read(): Promise<void> {
      if (isReading) return;
      isReading = true;
      store.beginLoad();
      try {
        const answer = await api.get<CardsAnswer>(key, signal);
        store.loadSnapshot(answer);
        stop ??= live.follow(`board:${slug}`, answer.at, ({ name, data }) => {
          const change = data as BoardChange;
          if (name === "board-change" && change.board === slug && !store.applyChange(change)) void read();
        });
        setShown({ slug, key, store });
        setProblem(undefined);
      } catch (error) {
        if (!signal.aborted) setProblem({ key, error });
      } finally {
        isReading = false;
      }
    }
    void read();
    const stopEvents = live.onEvent(({ name, data }) => {
      if (name !== "reset") return;
      const { topics } = data as { topics: readonly string[] | null };
      if (topics === null || topics.includes(`board:${slug}`)) void read();
    });
    return () => {
      ended.abort();
      stop?.();
      stopEvents();
    };
  }, [api, live, slug, key, round]);

  const store = shown?.slug === slug ? shown.store : empty;
  const loadMore = useCallback(
    (status: Status): void => {
      const { next } = store.column(status);
      const name = `${key} ${status}`;
      if (next === null || reading.current.has(name)) return;
      const path = cardsPath(slug, { ...latest.current.query, status, after: next });
      const reads = api
        .get<CardsAnswer>(path)
        .then(({ columns: [page], event }) => {
          reading.current.delete(name);
          if (page !== undefined) store.appendPage(page, event);
        })
        // The rows stay empty; the next scroll tries again.
        .catch(() => void reading.current.delete(name));
      reading.current.set(name, reads);
    },
    [api, slug, key, store],
  );

  return {
    store,
    isCurrent: shown?.key === key,
    error: problem?.key === key ? problem.error : undefined,
    retry: () => setRound((count) => count + 1),
    loadMore,
  };
}

export function cardsPath(slug: string, query: CardsQuery): string {
  const parameters = new URLSearchParams(
    Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return `boards/${encodeURIComponent(slug)}/cards?${parameters}`;
}

/** Runs in the next frame, or soon if the page is hidden and has no frames. */
function nextFrame(flush: () => void): void {
  if (document.hidden) setTimeout(flush, 100);
  else requestAnimationFrame(flush);
}
