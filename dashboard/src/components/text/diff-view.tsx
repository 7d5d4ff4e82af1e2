import { Children } from "react";
import styles from "./diff-view.module.css";

/** Whether a text is a unified diff. */
export const isDiff = (text: string): boolean => /^@@ -\d/m.test(text);

/** A unified diff with coloured lines. */
export function DiffView({ text }: { readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <pre className={styles.diff} tabIndex={0}>
      {Children.toArray(text.split("\n").map(line))}
    </pre>
  );
}

function line(text: string) {
  return <span className={kindOf(text)}>{`${text}\n`}</span>;
}

function kindOf(line: string): string | undefined {
  if (/^(?:\+\+\+|---|diff |index )/.test(line)) return styles.file;
  if (line.startsWith("@@")) return styles.place;
  if (line.startsWith("+")) return styles.added;
  if (line.startsWith("-")) return styles.removed;
  return undefined;
}
