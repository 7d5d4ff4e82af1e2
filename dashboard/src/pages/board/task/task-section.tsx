import type { ReactNode } from "react";
import styles from "./task-tab.module.css";

/** A section of the drawer with its heading. */
export function TaskSection({
  title,
  fact,
  action,
  children,
}: {
  readonly title: string;
  readonly fact?: string | undefined;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <section className={styles.section} aria-label={title}>
      <div className={styles.sub}>
        <h3>{title}</h3>
        {fact !== undefined && <span className="faint">{fact}</span>}
        {action}
      </div>
      {children}
    </section>
  );
}
