import { Button } from "../../../components/controls/button.tsx";
import { COMMAND_KEY } from "../../../shell/keys/keys.tsx";
import { pageWords } from "../../../words/page-words.ts";
import styles from "./save-bar.module.css";
import type { SettingsForm } from "./use-settings-form.ts";

const w = pageWords.settings;

/** What is unsaved, at the end of the window. */
export function SaveBar({ form, canSave }: { readonly form: SettingsForm; readonly canSave: boolean }) {
  const keys = Object.keys(form.drafts);
  const isSaving = form.saving.size > 0;
  return (
    <div className={styles.bar}>
      <span className={styles.text} role="status">
        {form.conflicts > 0 ? w.toDecide(form.conflicts) : w.changes(keys.length)}
      </span>
      <Button kind="quiet" disabled={isSaving} onClick={() => form.drop(keys)}>
        {w.discard}
      </Button>
      <Button kind="main" busy={isSaving} disabled={!canSave && !isSaving} onClick={() => void form.save()}>
        {w.save}
        <span aria-hidden="true" className={styles.key}>
          {COMMAND_KEY}S
        </span>
      </Button>
    </div>
  );
}
