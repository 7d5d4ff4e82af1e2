import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { SessionChange } from "../../../../src/api/contract/sessions.ts";
import { Button } from "../../components/controls/button.tsx";
import { FailureNote } from "../../components/layout/note.tsx";
import { useMedia } from "../../components/layout/use-media.ts";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { useApi, useLive } from "../../data/app-data.tsx";
import { useKeys } from "../../shell/keys/keys.tsx";
import { moveToRow } from "../../shell/keys/move-to-row.ts";
import { useProfile } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { readSessionFilter, type SessionFilter } from "../../transcript/session-filter.ts";
import { changeList, sessionsQuery } from "../../transcript/session-queries.ts";
import { words } from "../../words/words.ts";
import { SessionRow } from "./session-row.tsx";
import { SessionSearch } from "./session-search.tsx";
import styles from "./sessions.module.css";

const w = words.sessions;
const GATHER_MS = 150;

/** The sessions of the profile with search and filters, and the open one beside them. */
export function Sessions() {
  const { id } = useParams({ strict: false }) as { id?: string };
  const isWide = useMedia("(min-width: 1000px)");
  const isOpen = id !== undefined;
  return (
    <div className={`${styles.page} ${isOpen ? styles.open : ""}`}>
      {(isWide || !isOpen) && <SessionList openId={id} />}
      {isOpen && (
        <div className={styles.reader}>
          <Outlet />
        </div>
      )}
    </div>
  );
}

function SessionList({ openId }: { readonly openId: string | undefined }) {
  const api = useApi();
  const profile = useProfile();
  const filter = readSessionFilter(useSearch({ strict: false }));
  const change = useChangeFilter();
  const [typed, setTyped] = useTypedSearch(filter.q ?? "", (q) => change({ q: q === "" ? undefined : q }));
  const search = useRef<HTMLInputElement>(null);
  const list = useInfiniteQuery(sessionsQuery(api, profile, filter));
  useLiveList(profile, filter);
  useTitleUnless(openId !== undefined);
  useKeys({ "/": () => search.current?.focus(), j: () => moveToRow(1), k: () => moveToRow(-1) });

  const sessions = list.data?.pages.flatMap(({ sessions }) => sessions) ?? [];
  const count = list.data?.pages[0]?.count ?? null;
  const isFiltered = Object.keys(filter).length > 0;
  const Title = openId === undefined ? "h1" : "h2"; // an open session has the heading of the page
  return (
    <section className={styles.list} aria-label={words.shell.pages.sessions}>
      <Title className={styles.title}>
        {words.shell.pages.sessions}
        {count !== null && <span>{w.count(count)}</span>}
      </Title>
      <SessionSearch
        inputRef={search}
        typed={typed}
        onType={setTyped}
        filter={filter}
        sources={list.data?.pages[0]?.sources ?? []}
        onChange={change}
      />
      {list.error !== null && list.data === undefined && (
        <FailureNote error={list.error} retry={() => void list.refetch()} busy={list.isFetching} />
      )}
      {list.data === undefined && list.error === null && <Skeleton />}
      {list.data !== undefined && sessions.length === 0 && <Nothing isFiltered={isFiltered} />}
      <ul className={list.isPlaceholderData ? styles.old : undefined} aria-busy={list.isFetching}>
        {sessions.map((session) => (
          <SessionRow key={session.id} session={session} isOpen={session.id === openId} />
        ))}
      </ul>
      {list.hasNextPage && <More busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />}
    </section>
  );
}

function useTitleUnless(isOpen: boolean): void {
  usePageTitle(isOpen ? undefined : words.shell.pages.sessions);
}

function useChangeFilter(): (change: Partial<SessionFilter>) => void {
  const navigate = useNavigate();
  return (change) =>
    void navigate({
      to: ".",
      replace: true,
      resetScroll: false,
      search: (earlier) => ({ ...earlier, ...change }),
    });
}

/** The typed text is searched for after a pause in typing; a changed address replaces it. */
function useTypedSearch(q: string, onRest: (q: string) => void): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState(q);
  const sent = useRef(q);
  const rest = useRef(onRest);
  useEffect(() => {
    rest.current = onRest;
  });
  useEffect(() => {
    if (q === sent.current) return;
    sent.current = q;
    setTyped(q);
  }, [q]);
  useEffect(() => {
    const next = typed.trim();
    if (next === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = next;
      rest.current(next);
    }, GATHER_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return [typed, setTyped];
}

function useLiveList(profile: string, filter: SessionFilter): void {
  const api = useApi();
  const live = useLive();
  const client = useQueryClient();
  const isPlain = Object.keys(filter).length === 0; // only the server can apply a filter
  useEffect(() => {
    if (!isPlain) return;
    const { queryKey } = sessionsQuery(api, profile, {});
    return live.onEvent(({ name, data }) => {
      if (name === "reset") void client.invalidateQueries({ queryKey });
      if (name !== "session-change") return;
      const change = data as SessionChange;
      if (change.profile === profile) client.setQueryData(queryKey, (old) => changeList(old, change));
    });
  }, [api, live, client, profile, isPlain]);
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  const change = useChangeFilter();
  const clear = (): void => change({ q: undefined, source: undefined, since: undefined, order: undefined });
  return (
    <div className={styles.nothing}>
      <b>{isFiltered ? w.nothing : w.none}</b>
      {isFiltered ? (
        <Button onClick={clear}>{w.clear}</Button>
      ) : (
        <>
          <p>{w.noneHint}</p>
          <CopyLine text={w.command} />
        </>
      )}
    </div>
  );
}

/** Loads more when it comes into view or is pressed. */
function More({ busy, onMore }: { readonly busy: boolean; onMore(): void }) {
  const place = useRef<HTMLDivElement>(null);
  const more = useRef(onMore);
  useEffect(() => {
    more.current = onMore;
  });
  useEffect(() => {
    const element = place.current;
    if (element === null || busy) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && more.current(), {
      rootMargin: "400px",
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [busy]);
  return (
    <div ref={place} className={styles.more}>
      <Button kind="quiet" busy={busy} onClick={onMore}>
        {w.more}
      </Button>
    </div>
  );
}

function Skeleton() {
  return (
    <div aria-busy="true">
      {[58, 41, 66, 37, 52].map((width) => (
        <div key={width} className={styles.bones}>
          <div className="bone" style={{ width: `${width}%` }} />
          <div className="bone" style={{ width: `${width - 18}%` }} />
        </div>
      ))}
    </div>
  );
}
