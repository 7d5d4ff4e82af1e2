import type { Card, Status } from "../../../../../src/api/contract/boards.ts";
import { FloatingMenu, type MenuEntry, type MenuItem } from "../../../components/controls/menu.tsx";
import { useToasts } from "../../../components/layout/toast.tsx";
import { words } from "../../../words/words.ts";
import { type CardMenuRequest, useBoard } from "../board-context.tsx";
import { STATUS_ICONS } from "../columns/status-icons.ts";
import { choiceFor } from "../model/moves.ts";
import { copyItems } from "./copy-items.ts";

const { board: text } = words;
const PRIORITIES = [0, 1, 2, 3] as const;

/** The menu of one card or of the selected ones. It can do everything that dragging can. */
export function CardMenu({ request, onClose }: { readonly request: CardMenuRequest; onClose(): void }) {
  const tools = useBoard();
  const toasts = useToasts();
  const { store, actions, marks, board } = tools;
  const { kind, ids, anchor } = request;
  const cards = ids.flatMap((id) => store.card(id) ?? []);
  const [card] = cards;
  if (card === undefined) return null;
  const isOne = cards.length === 1;
  const again = (next: CardMenuRequest["kind"]) => (): void => tools.openMenu({ kind: next, ids, anchor });

  const moves = moveItems(cards, tools.statuses, (to) => tools.requestMove(ids, to));
  const assign = (board?.assignees ?? []).map(
    ({ name }): MenuItem => ({
      label: name,
      checked: cards.every(({ assignee }) => assignee === name),
      run: () => void actions.edit(ids, { assignee: name }),
    }),
  );
  const nobody: MenuItem = {
    label: text.nobody,
    checked: cards.every(({ assignee }) => assignee === null),
    run: () => void actions.edit(ids, { assignee: null }),
  };
  const isHeld = cards.every(({ hold }) => hold);
  const all: MenuEntry[] = [
    ...(isOne
      ? [
          { label: text.open, keys: "↵", icon: "right", run: () => tools.openTask(card.id) } as const,
          { label: text.edit, keys: "e", run: () => tools.openTask(card.id, "title") },
          "line" as const,
        ]
      : []),
    { label: `${text.move}…`, keys: "m", icon: "board", run: again("move") },
    { label: `${text.assign}…`, keys: "a", run: again("assign") },
    ...PRIORITIES.map(
      (priority): MenuItem => ({
        label: text.priority(priority),
        keys: String(priority),
        checked: cards.every((one) => one.priority === priority),
        run: () => void actions.edit(ids, { priority }),
      }),
    ),
    "line",
    {
      label: isHeld ? text.release : text.hold,
      icon: "pause",
      run: () => void actions.hold(ids, !isHeld),
    },
    ...(cards.every(({ status, notice }) => status === "blocked" && notice?.kind === "failure")
      ? [{ label: text.retry, run: () => void actions.send(ids, { move: "retry" }, "ready") }]
      : []),
    ...(cards.every(({ reason }) => reason?.kind === "guarded")
      ? [{ label: text.unguard, run: () => void actions.send(ids, { move: "unguard" }, undefined) }]
      : []),
    {
      label: `${text.archive}…`,
      icon: "archived",
      danger: true,
      run: () => tools.requestMove(ids, "archived"),
    },
    ...(isOne
      ? [
          "line" as const,
          {
            label: marks.isSelected(card.id) ? text.deselect : text.selectOne,
            keys: "x",
            run: () => marks.toggle(card.id),
          },
          ...copyItems(card.id, tools, toasts),
        ]
      : []),
  ];
  const name = isOne ? card.title : text.bulk.count(cards.length);
  const items = kind === "move" ? moves : kind === "assign" ? [...assign, nobody] : all;
  return <FloatingMenu key={kind} name={name} items={items} anchor={anchor} onClose={onClose} />;
}

/** An item for every other column, with the reason if a card cannot go there. */
export function moveItems(
  cards: readonly Card[],
  statuses: readonly Status[],
  move: (to: Status) => void,
): readonly MenuEntry[] {
  const targets = statuses.includes("archived") ? statuses : [...statuses, "archived" as const];
  return targets.flatMap((to): MenuItem[] => {
    const choices = cards.map(({ status }) => choiceFor(status, to));
    const [first] = choices;
    if (choices.every((choice) => "refusal" in choice && choice.refusal === "already-here")) return [];
    const refusal =
      first !== undefined && "refusal" in first && choices.every((choice) => "refusal" in choice)
        ? text.refusals[first.refusal]
        : undefined;
    return [{ label: text.status[to], icon: STATUS_ICONS[to], refusal, run: () => move(to) }];
  });
}
