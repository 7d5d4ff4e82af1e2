import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Status } from "../../../../src/api/contract/boards.ts";
import { Button } from "../../components/controls/button.tsx";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { useMedia } from "../../components/layout/use-media.ts";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { useAppData } from "../../data/app-data.tsx";
import { meQuery } from "../../data/queries.ts";
import { useKeys } from "../../shell/keys/keys.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { createBoardActions, type RefusedTask } from "./actions/board-actions.ts";
import { bodyOf, type MoveAnswers, type MoveIntent, planMove } from "./actions/plan-move.ts";
import { BoardBar } from "./bars/board-bar.tsx";
import { BulkBar } from "./bars/bulk-bar.tsx";
import { Filters, StatusChips } from "./bars/filters.tsx";
import { type BoardTools, BoardToolsProvider, type CardMenuRequest, useSummary } from "./board-context.tsx";
import styles from "./board-page.module.css";
import { boardQuery, boardsQuery } from "./board-queries.ts";
import { Columns } from "./columns/columns.tsx";
import { Skeleton } from "./columns/skeleton.tsx";
import { BoardDialog, type BoardDialogKind, RefusedTasks } from "./dialogs/board-dialogs.tsx";
import { CreateTask } from "./dialogs/create-task.tsx";
import { MoveDialog } from "./dialogs/move-dialog.tsx";
import { createDragState } from "./drag/drag-state.ts";
import { ListView } from "./list/list-view.tsx";
import { CardMenu } from "./menus/card-menu.tsx";
import { type BoardSearch, hasFilter, parseSearch } from "./model/board-search.ts";
import { createCardMarks } from "./model/card-marks.ts";
import { COLUMNS } from "./model/column-layout.ts";
import { forgetOldDrafts } from "./model/drafts.ts";
import { useBoardCards } from "./use-board-cards.ts";

const { board: text } = words;
const TaskDrawer = lazy(() =>
  import("./task/task-drawer.tsx").then(({ TaskDrawer: drawer }) => ({ default: drawer })),
);
const GraphView = lazy(() =>
  import("./graph/graph-view.tsx").then(({ GraphView: view }) => ({ default: view })),
);

/** Redirects an address that names no board to the default board, or else to the first one. */
export function FirstBoard() {
  const { api } = useAppData();
  const navigate = useNavigate();
  const { new: opensNewTask } = useSearch({ strict: false });
  const boards = useQuery(boardsQuery(api));
  const all = boards.data?.boards ?? [];
  const first = (all.find(({ slug }) => slug === "default") ?? all[0])?.slug;
  useEffect(() => {
    if (first !== undefined)
      void navigate({
        to: "/board/$board/{-$task}",
        params: { board: first },
        search: opensNewTask ? { new: true } : {},
        replace: true,
      });
  }, [first, opensNewTask, navigate]);
  if (boards.error !== null) return <FailureNote error={boards.error} retry={() => void boards.refetch()} />;
  return <Skeleton />;
}

/** A board, and the task that is open on it. */
export function BoardPage() {
  const { board: slug = "" } = useParams({ strict: false });
  useEffect(() => forgetOldDrafts(localStorage, Date.now()), []);
  return <Board key={slug} slug={slug} />;
}

/** On a phone, the first of these columns that has tasks is shown first. */
const PHONE_FIRST: readonly Status[] = ["blocked", "running", "review", "ready"];

type SearchChange = { readonly [Key in keyof BoardSearch]?: BoardSearch[Key] | undefined };

function Board({ slug }: { readonly slug: string }) {
  const { api } = useAppData();
  const { task: openId } = useParams({ strict: false });
  const rawSearch: Record<string, unknown> = useSearch({ strict: false });
  const search = useMemo(() => parseSearch(rawSearch), [rawSearch]);
  const navigate = useNavigate();
  const toasts = useToasts();
  const queries = useQueryClient();
  const isPhone = useMedia("(max-width: 720px)");
  const me = useQuery(meQuery(api));
  const mayWork = me.data?.signedIn === true && me.data.scopes.includes("work");
  const board = useQuery(boardQuery(api, slug));
  const boards = useQuery(boardsQuery(api));
  const statuses = useMemo<readonly Status[]>(
    () => (search.archived === true ? [...COLUMNS, "archived"] : COLUMNS),
    [search.archived],
  );
  const cards = useBoardCards(slug, search, statuses);
  const { store } = cards;
  const summary = useSummary(store);
  const opensNewTask = rawSearch["new"] === true;
  useEffect(() => {
    if (!opensNewTask) return;
    setDialog("new-task");
    void navigate({ to: ".", search: (before) => ({ ...before, new: undefined }), replace: true });
  }, [opensNewTask, navigate]);
  const [marks] = useState(createCardMarks);
  const [drag] = useState(createDragState);
  const [menu, setMenu] = useState<CardMenuRequest>();
  const [intent, setIntent] = useState<MoveIntent>();
  const [refused, setRefused] = useState<readonly RefusedTask[]>();
  const [dialog, setDialog] = useState<BoardDialogKind | "new-task">();
  const [isPausing, setPausing] = useState(false);
  const [phoneStatus, setPhoneStatus] = useState<Status>();
  const [titleEditId, setTitleEditId] = useState<string>();
  usePageTitle(board.data === undefined ? text.title : `${board.data.name} · ${text.title}`);

  const actions = useMemo(
    () => createBoardActions({ api, slug, store, toasts, onRefused: setRefused }),
    [api, slug, store, toasts],
  );
  const go = useCallback(
    (task: string | undefined, change: SearchChange, replace = false) =>
      void navigate({
        to: "/board/$board/{-$task}",
        params: paramsOf(slug, task),
        search: (before: Record<string, unknown>) => withoutUndefined({ ...before, ...change }),
        replace,
      }),
    [navigate, slug],
  );
  const onSearch = useCallback(
    (change: SearchChange) => go(latest.current.openId, change, "q" in change),
    [go],
  );
  const latest = useRef({ openId, search });
  latest.current = { openId, search };

  const sendMoves = useCallback(
    (planned: MoveIntent, answers: MoveAnswers) => {
      setIntent(undefined);
      const failed = planned.refused.map(({ card, refusal }) => ({
        id: card.id,
        title: card.title,
        why: text.refusals[refusal],
      }));
      if (failed.length > 0 && planned.groups.length > 0) setRefused(failed);
      const moves = planned.groups.map(({ choice, cards: group }) => ({
        ids: group.map(({ id }) => id),
        choice,
        body: bodyOf(choice, answers),
      }));
      void actions.move(moves);
      marks.select([]);
    },
    [actions, marks],
  );

  const tools = useMemo<BoardTools>(
    () => ({
      slug,
      board: board.data,
      store,
      marks,
      drag,
      actions,
      statuses,
      mayWork,
      openId,
      hrefOf: (id) => `board/${encodeURIComponent(slug)}/${id}${queryStringOf(search)}`,
      openTask(id, focus) {
        setTitleEditId(focus === "title" ? id : undefined);
        go(id, { tab: undefined });
      },
      openMenu: setMenu,
      requestMove(ids, to) {
        const planned = planMove(
          ids.flatMap((id) => store.card(id) ?? []),
          to,
        );
        const [first] = planned.refused;
        if (planned.groups.length === 0) {
          if (first !== undefined && first.refusal !== "already-here")
            toasts.refuse(text.notMoved(first.card.title, text.refusals[first.refusal]));
        } else if (planned.question === undefined) sendMoves(planned, {});
        else setIntent(planned);
      },
      loadMore: cards.loadMore,
    }),
    [
      slug,
      board.data,
      store,
      marks,
      drag,
      actions,
      statuses,
      mayWork,
      openId,
      search,
      go,
      sendMoves,
      toasts,
      cards.loadMore,
    ],
  );

  useKeys({
    ...(mayWork && { c: () => setDialog("new-task") }),
    ArrowDown: enterBoard,
    j: enterBoard,
    Escape: () => {
      if (marks.selected().length > 0) marks.select([]);
      else if (openId !== undefined) closeTask();
      else return false;
      return true;
    },
  });

  /** Focuses the card that had the focus last, or else the first one. */
  function enterBoard(): boolean {
    if (view !== "board" || openId !== undefined || document.activeElement?.closest("[data-card]"))
      return false;
    const before = marks.focused();
    const shown = isPhone ? [currentPhoneStatus] : statuses;
    const all = shown.flatMap((status) => store.column(status).ids.slice(0, 1));
    const id = before !== undefined && store.card(before) !== undefined ? before : all[0];
    if (id === undefined) return false;
    marks.focus(id, true);
    return true;
  }

  function closeTask(): void {
    const id = latest.current.openId;
    go(undefined, { tab: undefined });
    if (id !== undefined) marks.focus(id, true);
  }

  async function setPaused(paused: boolean): Promise<void> {
    setPausing(true);
    try {
      await api.send("POST", `boards/${encodeURIComponent(slug)}/${paused ? "pause" : "resume"}`, {});
      await queries.invalidateQueries({ queryKey: ["board", slug] });
    } catch (error) {
      toasts.refuse(sentenceOf(error));
    } finally {
      setPausing(false);
    }
  }

  const currentPhoneStatus =
    phoneStatus ?? PHONE_FIRST.find((status) => (summary.counts[status] ?? 0) > 0) ?? "todo";
  const view = search.view ?? "board";
  const isPaused = summary.isLoaded ? summary.paused : board.data?.paused === true;
  const failure = cards.error ?? board.error ?? undefined;
  const isEmpty = summary.isLoaded && cards.isCurrent && summary.total === 0;
  return (
    <BoardToolsProvider value={tools}>
      <div className={styles.page}>
        <BoardBar
          slug={slug}
          store={store}
          board={board.data}
          boards={boards.data}
          mayWork={mayWork}
          isFiltered={hasFilter(search)}
          isPausing={isPausing}
          onPause={(paused) => void setPaused(paused)}
          onGo={(other) =>
            void navigate({ to: "/board/$board/{-$task}", params: paramsOf(other, undefined) })
          }
          onDialog={setDialog}
          onNewTask={() => setDialog("new-task")}
        />
        <Filters search={search} board={board.data} onSearch={onSearch} />
        {isPhone && view === "board" && (
          <StatusChips
            store={store}
            statuses={statuses}
            chosen={currentPhoneStatus}
            onChoose={setPhoneStatus}
          />
        )}
        <div className={styles.notes}>
          {failure !== undefined && <FailureNote error={failure} retry={cards.retry} />}
          {isPaused && <Note icon="pause">{text.pausedNote}</Note>}
          {!isPaused && board.data?.dispatchers === 0 && (summary.counts.ready ?? 0) > 0 && (
            <Note>
              {text.noDispatcher} <CopyLine text={text.dispatcherCommand} />
            </Note>
          )}
        </div>
        {!summary.isLoaded ? (
          failure === undefined && <Skeleton />
        ) : view === "graph" ? (
          <Suspense fallback={<Skeleton />}>
            <GraphView />
          </Suspense>
        ) : isEmpty && (hasFilter(search) || view === "list") ? (
          <Empty
            isFiltered={hasFilter(search)}
            onClear={() => onSearch({ q: undefined, assignee: undefined, tenant: undefined })}
          />
        ) : view === "list" ? (
          <ListView />
        ) : (
          <>
            {isEmpty && <Empty isFiltered={false} onClear={() => undefined} />}
            <Columns
              phoneStatus={isPhone ? currentPhoneStatus : undefined}
              onSwipe={(by) => {
                const next = statuses[statuses.indexOf(currentPhoneStatus) + by];
                if (next !== undefined) setPhoneStatus(next);
              }}
            />
          </>
        )}
      </div>
      <BulkBar />
      {openId !== undefined && (
        <Suspense fallback={null}>
          <TaskDrawer
            key={openId}
            id={openId}
            tab={search.tab ?? "task"}
            editTitle={titleEditId === openId}
            onTab={(tab) => go(openId, { tab: tab === "task" ? undefined : tab }, true)}
            onClose={closeTask}
          />
        </Suspense>
      )}
      {menu !== undefined && <CardMenu request={menu} onClose={() => setMenu(undefined)} />}
      {intent !== undefined && (
        <MoveDialog
          intent={intent}
          onAnswer={(answers) => sendMoves(intent, answers)}
          onClose={() => setIntent(undefined)}
        />
      )}
      {dialog === "new-task" && <CreateTask onClose={() => setDialog(undefined)} />}
      {dialog !== undefined && dialog !== "new-task" && (
        <BoardDialog
          kind={dialog}
          slug={slug}
          name={board.data?.name ?? slug}
          onClose={() => setDialog(undefined)}
          onGo={(other) =>
            void (other === undefined
              ? navigate({ to: "/board" })
              : navigate({ to: "/board/$board/{-$task}", params: paramsOf(other, undefined) }))
          }
        />
      )}
      {refused !== undefined && <RefusedTasks tasks={refused} onClose={() => setRefused(undefined)} />}
    </BoardToolsProvider>
  );
}

function Empty({ isFiltered, onClear }: { readonly isFiltered: boolean; onClear(): void }) {
  if (isFiltered)
    return (
      <div className={styles.empty}>
        <b>{text.noHits.title}</b>
        <p>{text.noHits.text}</p>
        <Button onClick={onClear}>{text.clearFilters}</Button>
      </div>
    );
  return (
    <div className={styles.empty}>
      <b>{text.empty.title}</b>
      <p>{text.empty.text}</p>
      <CopyLine text={text.empty.command} />
    </div>
  );
}

/** The filters as a query string, without the tab of the open task. */
function queryStringOf({ tab: _, ...search }: BoardSearch): string {
  const parameters = new URLSearchParams(
    Object.entries(search).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return parameters === "" ? "" : `?${parameters}`;
}

/** An undefined task is removed from the address; an omitted one would stay. */
function paramsOf(board: string, task: string | undefined): { board: string; task: string } {
  return { board, task } as { board: string; task: string };
}

function withoutUndefined(search: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));
}
