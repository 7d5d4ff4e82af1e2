import { type ReactNode, useId } from "react";
import styles from "./section.module.css";

interface SectionProps {
  readonly title: string;
  /** Shown beside the title, such as a count. */
  readonly fact?: ReactNode;
  /** Shown at the end of the line, such as a link to more. */
  readonly end?: ReactNode;
  readonly children: ReactNode;
}

/** A section of a page with its heading. */
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

/** The class of a list whose rows have a line between them. */
export const rowList = styles.rows;
/** The class of the text of an empty section. */
export const emptyText = styles.empty;
