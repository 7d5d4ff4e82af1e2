import type { Card, Status } from "../../../../../src/api/contract/boards.ts";
import type {
  BulkAnswer,
  ChangedTask,
  RefusedMove,
  TaskEdit,
  TaskMove,
} from "../../../../../src/api/contract/tasks.ts";
import type { Toasts } from "../../../components/layout/toast.tsx";
import type { Api } from "../../../data/api.ts";
import type { BoardStore } from "../../../data/board-store.ts";
import { Problem } from "../../../data/problem.ts";
import { sentenceOf } from "../../../words/problem-words.ts";
import { words } from "../../../words/words.ts";
import { type MoveChoice, undoOf } from "../model/moves.ts";

const { board: text } = words;

/** One move for some tasks, with the column that it should lead to. */
export interface PlannedMove {
  readonly ids: readonly string[];
  readonly body: TaskMove;
  readonly choice: MoveChoice;
}

/** Fields of a card that can be changed without opening the task. */
export type CardEdit = { readonly priority: number } | { readonly assignee: string | null };

/** A task that was not changed, and why. */
export interface RefusedTask {
  readonly id: string;
  readonly title: string;
  readonly why: string;
}

/** Changes to cards: shown at once, then sent, and reverted with the server's message if it refuses. */
export interface BoardActions {
  move(plan: readonly PlannedMove[]): Promise<void>;
  edit(ids: readonly string[], edit: CardEdit): Promise<void>;
  hold(ids: readonly string[], hold: boolean): Promise<void>;
  /** Sends a move that needs no answers. `to` is the column that the tasks go to; undefined if they stay. */
  send(ids: readonly string[], body: TaskMove, to: Status | undefined): Promise<void>;
}

interface Parts {
  readonly api: Api;
  readonly slug: string;
  readonly store: BoardStore;
  readonly toasts: Toasts;
  /** Called with the refused tasks of a bulk change. */
  onRefused(tasks: readonly RefusedTask[]): void;
}

/** Why a move was refused, with the numbers and titles of the tasks in the way. */
function refusalOf(error: unknown): string {
  const { tasks } = (error instanceof Problem ? (error.details ?? {}) : {}) as Partial<RefusedMove>;
  if (tasks === undefined || tasks.length === 0) return sentenceOf(error);
  return text.waitsFor(tasks.map(({ seq, title }) => `${text.number(seq)} ${title}`));
}

export function createBoardActions({ api, slug, store, toasts, onRefused }: Parts): BoardActions {
  const path = `boards/${encodeURIComponent(slug)}/tasks`;
  const titleOf = (id: string): string => store.card(id)?.title ?? id;

  async function moveOne(id: string, { body, choice }: PlannedMove, isUndo = false): Promise<void> {
    const before = store.card(id);
    const title = titleOf(id);
    const token = store.begin([id], { status: choice.to });
    try {
      const { card } = await api.send<ChangedTask>("POST", `${path}/${id}/moves`, body);
      store.settle(token, id, card);
      const undo = isUndo || before === undefined ? undefined : undoOf(before, choice);
      const run = (): void => {
        const back = before as Card;
        const planned = { ids: [id], body: undo as TaskMove, choice: { ...choice, to: back.status } };
        void moveOne(id, planned, true);
      };
      toasts.say(isUndo ? text.undone : sentenceFor(card), undo && { label: text.undo, run });
    } catch (error) {
      store.settle(token, id);
      toasts.refuse(text.notMoved(title, refusalOf(error)));
    }
  }

  /** "Moved to Ready, 2 of 3". The server may have chosen another column than the requested one. */
  function sentenceFor(card: Card): string {
    if (card.status === "archived") return text.archivedToast;
    const { ids, count } = store.column(card.status);
    const place = ids.indexOf(card.id) + 1;
    const column = text.status[card.status];
    return place > 0 ? text.moved(column, place, count) : text.movedElsewhere(column);
  }

  /** Sends one change for several tasks; each has its own result. */
  async function sendMany(
    ids: readonly string[],
    change: { readonly move: TaskMove } | { readonly edit: TaskEdit },
    fields: Parameters<BoardStore["begin"]>[1],
  ): Promise<{ done: number; refused: RefusedTask[] }> {
    const token = store.begin(ids, fields);
    try {
      const answer = await api.send<BulkAnswer>("POST", `${path}/bulk`, { ids, ...change });
      const refused = answer.filter(({ ok }) => !ok);
      for (const { id, ok } of answer) {
        if (ok) store.accept(token, id);
        else store.settle(token, id);
      }
      return {
        done: answer.length - refused.length,
        refused: refused.map(({ id, problem }) => ({ id, title: titleOf(id), why: problem?.message ?? "" })),
      };
    } catch (error) {
      for (const id of ids) store.settle(token, id);
      const why = sentenceOf(error);
      return { done: 0, refused: ids.map((id) => ({ id, title: titleOf(id), why })) };
    }
  }

  function sayResult(done: number, refused: readonly RefusedTask[], success: string): void {
    if (refused.length === 0) {
      if (done > 0) toasts.say(success);
      return;
    }
    toasts.refuse(text.someRefused(done, refused.length));
    onRefused(refused);
  }

  async function editOne(id: string, edit: CardEdit, success: string): Promise<void> {
    const title = titleOf(id);
    const token = store.begin([id], edit);
    try {
      const { card } = await api.send<ChangedTask>("PATCH", `${path}/${id}`, edit);
      store.settle(token, id, card);
      toasts.say(success);
    } catch (error) {
      store.settle(token, id);
      toasts.refuse(text.notChanged(title, sentenceOf(error)));
    }
  }

  return {
    async move(plan) {
      const [only] = plan;
      const [id] = only?.ids ?? [];
      if (only !== undefined && id !== undefined && plan.length === 1 && only.ids.length === 1)
        return moveOne(id, only);
      const results = await Promise.all(
        plan.map(({ ids, body, choice }) => sendMany(ids, { move: body }, { status: choice.to })),
      );
      const done = results.reduce((sum, result) => sum + result.done, 0);
      const column: Status = only?.choice.to ?? "todo";
      sayResult(
        done,
        results.flatMap(({ refused }) => refused),
        text.movedMany(done, text.status[column]),
      );
    },
    async edit(ids, edit) {
      const success = "priority" in edit ? text.prioritySet(edit.priority) : text.assigned(edit.assignee);
      const [id] = ids;
      if (id !== undefined && ids.length === 1) return editOne(id, edit, success);
      const { done, refused } = await sendMany(ids, { edit }, edit);
      sayResult(done, refused, `${success} · ${text.tasks(done)}`);
    },
    async send(ids, body, to) {
      const { done, refused } = await sendMany(ids, { move: body }, to === undefined ? {} : { status: to });
      sayResult(done, refused, text.changed(done));
    },
    async hold(ids, hold) {
      const body: TaskMove = { move: hold ? "hold" : "release-hold" };
      const { done, refused } = await sendMany(ids, { move: body }, { hold });
      sayResult(done, refused, hold ? text.held : text.released);
    },
  };
}
