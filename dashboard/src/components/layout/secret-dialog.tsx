import { type ReactNode, useState } from "react";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { Button } from "../controls/button.tsx";
import { TextField } from "../controls/field.tsx";
import { Dialog } from "./dialog.tsx";

interface SecretDialogProps {
  readonly title: string;
  readonly label: string;
  readonly hint: ReactNode;
  readonly saveLabel: string;
  /** Rejects with the reason if the text was refused; the text then stays in the field. */
  save(value: string): Promise<void>;
  onClose(): void;
}

/** Takes a secret, which is hidden as it is typed and kept nowhere in the browser. */
export function SecretDialog({ title, label, hint, saveLabel, save, onClose }: SecretDialogProps) {
  const [value, setValue] = useState("");
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    if (isBusy || value.trim() === "") return;
    setBusy(true);
    try {
      await save(value);
      onClose();
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {words.shell.cancel}
          </Button>
          <Button kind="main" type="submit" busy={isBusy} disabled={value.trim() === ""}>
            {saveLabel}
          </Button>
        </>
      }
    >
      <TextField
        label={label}
        hint={hint}
        problem={problem}
        type="password"
        autoComplete="new-password"
        spellCheck={false}
        value={value}
        onChange={(event) => {
          setValue(event.target.value);
          setProblem(undefined);
        }}
      />
    </Dialog>
  );
}
