import type { ReactNode } from "react";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { Button } from "../controls/button.tsx";
import { Icon, type IconName } from "../controls/icon.tsx";
import styles from "./note.module.css";

interface NoteProps {
  readonly icon?: IconName;
  readonly bad?: boolean;
  readonly children: ReactNode;
  /** Buttons at the end. */
  readonly actions?: ReactNode;
}

/** A line about a problem, shown where the problem matters. */
export function Note({ icon = "failed", bad = false, children, actions }: NoteProps) {
  return (
    <div className={`${styles.note} ${bad ? styles.bad : ""}`}>
      <Icon name={icon} />
      <span className={styles.text}>{children}</span>
      {actions && <span className={styles.actions}>{actions}</span>}
    </div>
  );
}

/** Replaces content that could not be read: what happened, and a button to try again. */
export function FailureNote({
  error,
  retry,
  busy,
}: {
  readonly error: unknown;
  retry(): void;
  readonly busy?: boolean;
}) {
  const again = (
    <Button small busy={busy ?? false} onClick={retry}>
      {words.shell.tryAgain}
    </Button>
  );
  return (
    <div role="alert">
      <Note bad actions={again}>
        {sentenceOf(error)}
      </Note>
    </div>
  );
}
