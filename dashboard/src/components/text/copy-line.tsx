import { words } from "../../words/words.ts";
import { Button } from "../controls/button.tsx";
import { useToasts } from "../layout/toast.tsx";
import styles from "./copy-line.module.css";

/** A command that can be copied. */
export function CopyLine({ text }: { readonly text: string }) {
  const toasts = useToasts();
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    toasts.say(words.shell.copied);
  };
  return (
    <span className={styles.line}>
      <code>{text}</code>
      {"clipboard" in navigator && (
        <Button
          kind="quiet"
          small
          icon="copy"
          aria-label={`${words.shell.copy}: ${text}`}
          onClick={() => void copy()}
        />
      )}
    </span>
  );
}
