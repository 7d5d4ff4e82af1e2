import { words } from "../../../words/words.ts";
import { Bone } from "./column.tsx";
import styles from "./columns.module.css";

const SHAPE = [3, 2, 3, 2, 1, 4] as const;

/** The placeholder of a board until its cards are loaded. */
export function Skeleton() {
  return (
    <div className={styles.columns} role="status" aria-label={words.shell.loading}>
      {SHAPE.map((count, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bones have no names
        <div key={column} className={styles.column} aria-hidden="true">
          <div className={styles.head}>
            <span className="bone" style={{ width: 72 }} />
          </div>
          <div className={styles.cards} style={{ "--card-height": "96px" } as React.CSSProperties}>
            <ul>
              {Array.from({ length: count }, (_, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: bones have no names
                <Bone key={index} />
              ))}
            </ul>
          </div>
        </div>
      ))}
    </div>
  );
}
