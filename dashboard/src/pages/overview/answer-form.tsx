import { useEffect, useRef } from "react";
import { Button } from "../../components/controls/button.tsx";
import { TextArea } from "../../components/controls/field.tsx";
import { useDraft } from "../../data/use-draft.ts";
import { COMMAND_KEY } from "../../shell/keys/keys.tsx";
import { words } from "../../words/words.ts";
import styles from "./answer-form.module.css";

interface AnswerFormProps {
  /** The name of the draft. */
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  /** The offered answers. */
  readonly choices: readonly string[];
  readonly busy: boolean;
  /** Call `onSent` when the server has accepted it; until then the draft stays. */
  onSend(text: string, onSent: () => void): void;
  onClose(): void;
}

/** A field for the answer; Ctrl+Enter or ⌘↵ sends it. */
export function AnswerForm({ name, label, hint, choices, busy, onSend, onClose }: AnswerFormProps) {
  const [text, setText] = useDraft(name);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("textarea, button")?.focus(), []);
  const send = (words: string): void => {
    if (busy || words.trim() === "") return;
    onSend(words.trim(), () => setText(""));
  };
  return (
    <form
      ref={form}
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        send(text);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      {choices.length > 0 && (
        <div className={styles.choices}>
          {choices.map((choice) => (
            <Button key={choice} small busy={busy} onClick={() => send(choice)}>
              {choice}
            </Button>
          ))}
        </div>
      )}
      <TextArea
        label={label}
        bare
        rows={2}
        placeholder={choices.length > 0 ? words.overview.needs.own : label}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onSubmitKey={() => send(text)}
      />
      <div className={styles.end}>
        <small>{hint}</small>
        <Button small kind="quiet" onClick={onClose}>
          {words.shell.cancel}
        </Button>
        <Button small kind="main" type="submit" busy={busy} disabled={text.trim() === ""}>
          {words.overview.needs.send}
          <span className={styles.key} aria-hidden="true">
            {COMMAND_KEY}↵
          </span>
        </Button>
      </div>
    </form>
  );
}
