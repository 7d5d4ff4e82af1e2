import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import type { LiveTurn } from "../../../../src/api/contract/chat.ts";
import type { Turn } from "../../../../src/api/contract/sessions.ts";
import { Button } from "../../components/controls/button.tsx";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { useApi } from "../../data/app-data.tsx";
import { useProfile } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { sessionPath, sessionQuery, turnsQuery } from "../../transcript/session-queries.ts";
import { TurnView } from "../../transcript/turn-view.tsx";
import { useEndOfPage } from "../../transcript/use-end-of-page.ts";
import { useLiveTurns } from "../../transcript/use-live-turns.ts";
import { pageWords } from "../../words/page-words.ts";
import { words } from "../../words/words.ts";
import styles from "./chat.module.css";
import { ChatHead } from "./chat-head.tsx";
import { Composer } from "./composer.tsx";
import { EmptyChat } from "./empty-chat.tsx";
import { joinTurns } from "./live-turn.ts";
import { Questions } from "./questions.tsx";
import { Queue } from "./queue.tsx";
import { toRemarks } from "./remarks.ts";
import { TurnState } from "./turn-state.tsx";
import { useChat } from "./use-chat.ts";
import { useComposer } from "./use-composer.ts";

const w = pageWords.chat;
const NO_LIVE_TURNS: readonly LiveTurn[] = [];

/** A chat whose session begins with the first message. */
export function NewChat() {
  const profile = useProfile();
  usePageTitle(w.open);
  const composer = useComposer(profile, undefined);
  return (
    <article className={styles.chat}>
      <ChatHead profile={profile} session={undefined} />
      <EmptyChat profile={profile} onAsk={composer.write} />
      <div className={styles.foot}>
        <Composer composer={composer} profile={profile} />
      </div>
    </article>
  );
}

/** The chat in a session. */
export function Chat() {
  const { session = "" } = useParams({ strict: false }) as { session?: string };
  const profile = useProfile();
  return <SessionChat key={`${profile} ${session}`} profile={profile} id={session} />;
}

function SessionChat({ profile, id }: { readonly profile: string; readonly id: string }) {
  const api = useApi();
  const session = useQuery(sessionQuery(api, profile, id));
  const pages = useInfiniteQuery(turnsQuery(api, profile, id));
  useLiveTurns(profile, id);
  const view = useChat(profile, id);
  const { running, chat, questions } = view;
  const stored = useMemo(
    () => (pages.data?.pages ?? []).toReversed().flatMap(({ turns }) => turns),
    [pages.data],
  );
  const isLoaded = pages.data !== undefined;
  const turns = joinTurns(stored, isLoaded ? view.turns : NO_LIVE_TURNS);
  const { content, top, isAtEnd, toEnd } = useEndOfPage({
    isReady: isLoaded,
    first: turns[0]?.id,
    hold: false,
    onTop: () => {
      if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
    },
  });
  const composer = useComposer(profile, { id, view, session: session.data, turns });
  const open = session.data?.openTurn ?? null;
  const isElsewhere = open?.isAlive === true && !view.turns.some((turn) => turn.id === open.id);
  const error = session.error ?? pages.error ?? view.error;

  return (
    <article className={styles.chat} aria-busy={pages.isPending}>
      <ChatHead profile={profile} session={session.data} />
      {error !== null && (
        <FailureNote
          error={error}
          retry={() => {
            void session.refetch();
            void pages.refetch();
          }}
          busy={pages.isFetching}
        />
      )}
      <div ref={top} className={styles.top}>
        {pages.hasNextPage && <span>{words.sessions.turns.earlier}</span>}
      </div>
      {!isLoaded && error === null && <Skeleton />}
      <div ref={content} className={styles.turns}>
        {turns.map((turn) => (
          <ChatTurn
            key={turn.id}
            turn={turn}
            live={view.turns.find((each) => each.id === turn.id)}
            path={sessionPath(profile, id)}
            open={open}
            onAgain={composer.append}
          />
        ))}
        {running !== undefined && <TurnState turn={running} />}
        <Questions questions={questions} />
        {chat !== undefined && <Queue chat={chat} profile={profile} session={id} onEdit={composer.append} />}
      </div>
      <p className="unseen" role="status">
        {questions.length > 0 ? w.asked : running === undefined && view.turns.length > 0 ? w.ended : ""}
      </p>
      <div className={styles.foot}>
        {!isAtEnd && turns.length > 0 && (
          <div className={styles.toEnd}>
            <Button small icon="down" onClick={toEnd}>
              {words.sessions.turns.toEnd}
            </Button>
          </div>
        )}
        {isElsewhere && <Note icon="running">{w.elsewhere}</Note>}
        <Composer composer={composer} profile={profile} />
      </div>
    </article>
  );
}

interface ChatTurnProps {
  readonly turn: Turn;
  readonly live: LiveTurn | undefined;
  readonly path: string;
  readonly open: { readonly id: string; readonly isAlive: boolean } | null;
  onAgain(text: string): void;
}

function ChatTurn({ turn, live, path, open, onAgain }: ChatTurnProps) {
  const notices = live?.facts.notices;
  const remarks = useMemo(() => toRemarks(notices ?? []), [notices]);
  const isForeign = live === undefined && open?.id === turn.id;
  const isUnsent = live !== undefined && live.facts.state === "ended" && !live.facts.isStored;
  return (
    <>
      <TurnView
        turn={turn}
        path={path}
        isOpen={isForeign ? (open.isAlive ? "alive" : "dead") : undefined}
        isMarked={false}
        remarks={remarks}
      />
      {isUnsent && (
        <p>
          <Button small onClick={() => onAgain(turn.entries[0]?.text ?? "")}>
            {w.keepWriting}
          </Button>
        </p>
      )}
    </>
  );
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
