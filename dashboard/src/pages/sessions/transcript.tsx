import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useRef } from "react";
import type { Turn } from "../../../../src/api/contract/sessions.ts";
import { Button } from "../../components/controls/button.tsx";
import { Icon } from "../../components/controls/icon.tsx";
import { FailureNote } from "../../components/layout/note.tsx";
import { useApi } from "../../data/app-data.tsx";
import { sessionPath, sessionQuery, turnsQuery } from "../../transcript/session-queries.ts";
import { TurnView } from "../../transcript/turn-view.tsx";
import { useEndOfPage } from "../../transcript/use-end-of-page.ts";
import { useLiveTurns } from "../../transcript/use-live-turns.ts";
import { words } from "../../words/words.ts";
import styles from "./transcript.module.css";
import { TranscriptHead } from "./transcript-head.tsx";

const w = words.sessions.turns;

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

function Skeleton() {
  return (
    <div className={styles.bones}>
      {[30, 72, 64, 48].map((width) => (
        <div key={width} className="bone" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
