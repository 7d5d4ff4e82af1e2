import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import buttons from "../components/controls/button.module.css";

interface TaskLinkProps {
  readonly board: string;
  readonly id: string;
  readonly children: ReactNode;
  /** Makes it the target of the keys that move between rows. */
  readonly row?: boolean;
  /** Styled as a button. */
  readonly button?: boolean;
}

/** Opens a task on its board. */
export function TaskLink({ board, id, children, row = false, button = false }: TaskLinkProps) {
  return (
    <Link
      to="/board/$board/{-$task}"
      params={{ board, task: id }}
      data-row={row ? "" : undefined}
      className={button ? `${buttons.button} ${buttons.plain} ${buttons.small}` : undefined}
    >
      {children}
    </Link>
  );
}
