import type { RefObject } from "react";
import type { ShownTask, TaskMove } from "../../../../../src/api/contract/tasks.ts";
import type { MenuEntry, MenuItem } from "../../../components/controls/menu.tsx";
import type { Toasts } from "../../../components/layout/toast.tsx";
import { words } from "../../../words/words.ts";
import type { BoardTools } from "../board-context.tsx";
import { STATUS_ICONS } from "../columns/status-icons.ts";
import { copyItems } from "../menus/copy-items.ts";
import { choiceFor } from "../model/moves.ts";

const { board: text } = words;

/** The actions for a task: first the moves to other columns, then those that keep its status. */
export function taskItems(
  { task, card, moves }: ShownTask,
  tools: BoardTools,
  toasts: Toasts,
  place: RefObject<HTMLElement | null>,
): readonly MenuEntry[] {
  const ids = [task.id];
  const send = (label: string, body: TaskMove): MenuItem => ({
    label,
    run: () => void tools.actions.send(ids, body, undefined),
  });
  const isOver = task.status === "done" || task.status === "archived";
  const targets = [...tools.statuses.filter((status) => status !== "archived"), "archived" as const];
  const leave = targets.flatMap((to): MenuItem[] => {
    const choice = choiceFor(task.status, to);
    if ("refusal" in choice || to === "archived") return [];
    return [
      {
        label: `${text.moveVerbs[choice.move]}${choice.ask === undefined ? "" : "…"}`,
        icon: STATUS_ICONS[to],
        run: () => tools.requestMove(ids, to),
      },
    ];
  });
  const assign: MenuItem = {
    label: `${text.assign}…`,
    keys: "a",
    run: () => {
      const anchor = place.current?.querySelector<HTMLElement>("[aria-haspopup=menu]");
      if (anchor) tools.openMenu({ kind: "assign", ids, anchor });
    },
  };
  const isFailure = card.notice?.kind === "failure";
  return [
    ...leave,
    ...(leave.length > 0 ? ["line" as const] : []),
    ...(task.status === "running" ? [] : [assign]),
    ...(isFailure && moves.includes("retry") ? [send(text.retry, { move: "retry" })] : []),
    ...(isOver
      ? []
      : [task.hold ? send(text.release, { move: "release-hold" }) : send(text.hold, { move: "hold" })]),
    ...(card.reason?.kind === "guarded" ? [send(text.unguard, { move: "unguard" })] : []),
    "line",
    ...copyItems(task.id, tools, toasts),
    ...(task.status === "archived"
      ? []
      : [
          {
            label: `${text.archive}…`,
            icon: "archived" as const,
            danger: true,
            run: () => tools.requestMove(ids, "archived"),
          },
        ]),
  ];
}
