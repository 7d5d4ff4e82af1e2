import type { ReactNode } from "react";
import { words } from "../../words/words.ts";
import { Button } from "../controls/button.tsx";
import { Dialog } from "./dialog.tsx";

interface ConfirmDialogProps {
  readonly title: string;
  /** What the action ends. */
  readonly children: ReactNode;
  readonly confirmLabel: string;
  readonly busy: boolean;
  readonly disabled?: boolean;
  onConfirm(): void;
  onClose(): void;
}

/** Asks before an action that cannot be undone. */
export function ConfirmDialog({
  title,
  children,
  confirmLabel,
  busy,
  disabled = false,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={() => {
        if (!busy && !disabled) onConfirm();
      }}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {words.shell.cancel}
          </Button>
          <Button kind="danger" type="submit" busy={busy} disabled={disabled}>
            {confirmLabel}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}
