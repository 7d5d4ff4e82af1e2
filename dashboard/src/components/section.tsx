import { type ReactNode, useId } from "react";
import styles from "./section.module.css";

interface SectionProps {
  readonly title: string;
  /** A short fact beside the title, such as a count. */
  readonly fact?: ReactNode;
  /** At the end of the line, such as a link to more. */
  readonly end?: ReactNode;
  readonly children: ReactNode;
}

/** A titled part of a page. */
export function Section({ title, fact, end, children }: SectionProps) {
  const id = useId();
  return (
    <section className={styles.section} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {fact !== undefined && <span className={styles.fact}>{fact}</span>}
        {end && <span className={styles.end}>{end}</span>}
      </header>
      {children}
    </section>
  );
}

/** Rows with a hairline between them. */
export const rowList = styles.rows;
/** Said where a part has nothing to show. */
export const emptyText = styles.empty;
