import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useRef } from "react";
import type { SessionChange, Turn, TurnsAnswer } from "../../../../src/api/contract/sessions.ts";
import { Button } from "../../components/controls/button.tsx";
import { Icon } from "../../components/controls/icon.tsx";
import { FailureNote } from "../../components/layout/note.tsx";
import { useApi, useLive } from "../../data/app-data.tsx";
import { words } from "../../words/words.ts";
import { replaceEnd, sessionPath, sessionQuery, turnsQuery } from "./session-queries.ts";
import styles from "./transcript.module.css";
import { TranscriptHead } from "./transcript-head.tsx";
import { TurnView } from "./turn-view.tsx";
import { useEndOfPage } from "./use-end-of-page.ts";

const w = words.sessions.turns;
const GATHER_MS = 250;

/** The transcript of a session, turn by turn, opened at its end. */
export function Transcript() {
  const { profile = "", id = "" } = useParams({ strict: false }) as { profile?: string; id?: string };
  const { turn } = useSearch({ strict: false }) as { turn?: string };
  // With a key, another session starts at its own end and without state of the previous one.
  return <OpenTranscript key={`${profile} ${id}`} profile={profile} id={id} turn={turn} />;
}

interface OpenTranscriptProps {
  readonly profile: string;
  readonly id: string;
  /** The turn that a search found. */
  readonly turn: string | undefined;
}

function OpenTranscript({ profile, id, turn }: OpenTranscriptProps) {
  const api = useApi();
  const session = useQuery(sessionQuery(api, profile, id));
  const pages = useInfiniteQuery(turnsQuery(api, profile, id));
  const turns = useMemo(
    () => (pages.data?.pages ?? []).toReversed().flatMap(({ turns }) => turns),
    [pages.data],
  );
  useLiveTurns(profile, id);
  const isFound = turn === undefined || turns.some(({ id: own }) => own === turn);
  const { content, top, isAtEnd, toEnd } = useEndOfPage({
    isReady: pages.data !== undefined,
    first: turns[0]?.id,
    hold: turn !== undefined,
    onTop: () => {
      if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
    },
  });
  useShowTurn(turn, isFound, pages);

  return (
    <article className={styles.transcript} aria-busy={pages.isPending}>
      <Link to="/sessions" search={(earlier) => ({ ...earlier, turn: undefined })} className={styles.back}>
        <Icon name="back" /> {words.sessions.back}
      </Link>
      {session.data && <TranscriptHead session={session.data} />}
      {session.error !== null && session.data === undefined && (
        <FailureNote error={session.error} retry={() => void session.refetch()} busy={session.isFetching} />
      )}
      {pages.error !== null && (
        <FailureNote error={pages.error} retry={() => void pages.refetch()} busy={pages.isFetching} />
      )}
      <div ref={top} className={styles.top}>
        {pages.hasNextPage && <span>{w.earlier}</span>}
      </div>
      {pages.isPending && pages.error === null && <Skeleton />}
      <div ref={content} className={styles.turns}>
        {pages.data !== undefined && turns.length === 0 && <p className="faint">{w.empty}</p>}
        {turns.map((each) => (
          <TurnView
            key={each.id}
            turn={each}
            path={sessionPath(profile, id)}
            isOpen={isOpen(each, session.data?.openTurn ?? null)}
            isMarked={each.id === turn}
          />
        ))}
      </div>
      {!isAtEnd && turns.length > 0 && (
        <div className={styles.toEnd}>
          <Button small icon="down" onClick={toEnd}>
            {w.toEnd}
          </Button>
        </div>
      )}
    </article>
  );
}

const isOpen = (turn: Turn, open: { readonly id: string; readonly isAlive: boolean } | null) =>
  open?.id === turn.id ? (open.isAlive ? "alive" : "dead") : undefined;

/** Loads earlier turns until this one is loaded, and scrolls to it once. */
function useShowTurn(
  turn: string | undefined,
  isFound: boolean,
  pages: { readonly hasNextPage: boolean; readonly isFetching: boolean; fetchNextPage(): unknown },
): void {
  const shown = useRef<string>(undefined);
  const { hasNextPage, isFetching } = pages;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it depends on what the query has, not on the query
  useEffect(() => {
    if (turn === undefined || shown.current === turn) return;
    if (!isFound) {
      if (hasNextPage && !isFetching) pages.fetchNextPage();
      return;
    }
    shown.current = turn;
    document.getElementById(`turn-${turn}`)?.scrollIntoView({ block: "start" });
  }, [turn, isFound, hasNextPage, isFetching]);
}

/** Reads the end of the transcript again when another process adds to it. */
function useLiveTurns(profile: string, id: string): void {
  const api = useApi();
  const live = useLive();
  const client = useQueryClient();
  useEffect(() => {
    const end = turnsQuery(api, profile, id);
    const facts = sessionQuery(api, profile, id);
    let timer = 0;
    let leaving = new AbortController();
    const refresh = async (): Promise<void> => {
      timer = 0;
      leaving.abort();
      leaving = new AbortController();
      void client.invalidateQueries({ queryKey: facts.queryKey });
      const answer = await api
        .get<TurnsAnswer>(`${sessionPath(profile, id)}/turns`, leaving.signal)
        .catch(() => undefined);
      if (answer !== undefined) client.setQueryData(end.queryKey, (old) => replaceEnd(old, answer));
    };
    const stop = live.onEvent(({ name, data }) => {
      const { turns, sessions } = (data ?? {}) as Partial<SessionChange>;
      const isOurs =
        name === "reset" ||
        (name === "session-change" &&
          (turns?.some(({ session }) => session === id) || sessions?.some((session) => session.id === id)));
      if (isOurs) timer ||= window.setTimeout(() => void refresh(), GATHER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      leaving.abort();
    };
  }, [api, live, client, profile, id]);
}

function Skeleton() {
  return (
    <div className={styles.bones}>
      {[30, 72, 64, 48].map((width) => (
        <div key={width} className="bone" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
