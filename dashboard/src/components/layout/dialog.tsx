import { type ReactNode, type SubmitEvent, useEffect, useId, useRef } from "react";
import { words } from "../../words/words.ts";
import { Button } from "../controls/button.tsx";
import styles from "./dialog.module.css";

interface DialogProps {
  readonly title: string;
  onClose(): void;
  readonly children: ReactNode;
  /** The buttons below; the first one of kind `main` with `type="submit"` submits. */
  readonly actions?: ReactNode;
  onSubmit?(): void;
  readonly wide?: boolean;
}

/** A dialog over the page, for as long as it is rendered. Escape closes it, and focus returns to what opened it. */
export function Dialog({ title, onClose, children, actions, onSubmit, wide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement;
    element?.showModal();
    // Otherwise the close button, which comes first, would get the focus.
    const first = "input:not([type=hidden]), textarea, select, button[type=submit]";
    element?.querySelector<HTMLElement>(first)?.focus();
    return () => {
      element?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the click is on the backdrop; Escape does the same
    <dialog
      ref={dialog}
      aria-labelledby={id}
      className={`${styles.dialog} ${wide ? styles.wide : ""}`}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <form className={styles.form} onSubmit={submit} noValidate>
        <header className={styles.head}>
          <h2 id={id}>{title}</h2>
          <Button kind="quiet" icon="close" aria-label={words.shell.close} onClick={onClose} />
        </header>
        <div className={styles.body}>{children}</div>
        {actions && <footer className={styles.foot}>{actions}</footer>}
      </form>
    </dialog>
  );
}
