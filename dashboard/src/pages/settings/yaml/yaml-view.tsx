import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { Button } from "../../../components/controls/button.tsx";
import { FailureNote, Note } from "../../../components/layout/note.tsx";
import { CopyLine } from "../../../components/text/copy-line.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { useKeys } from "../../../shell/keys/keys.tsx";
import { useRefusal } from "../../../shell/use-refusal.ts";
import { pageWords } from "../../../words/page-words.ts";
import { yamlQuery } from "../settings-queries.ts";
import { useYamlDraft } from "./use-yaml-draft.ts";
import styles from "./yaml-view.module.css";

const w = pageWords.settings;

/** The text of config.yaml with its problems at their lines. */
export function YamlView({ profile }: { readonly profile: string }) {
  const api = useApi();
  const yaml = useQuery(yamlQuery(api, profile));
  const draft = useYamlDraft(profile, yaml.data);
  const refusal = useRefusal("admin");
  const area = useRef<HTMLTextAreaElement>(null);
  const { isMasked = false } = yaml.data ?? {};
  const isLocked = refusal !== undefined || isMasked;
  const canSave = !isLocked && draft.isChanged && !draft.isStale && !draft.isSaving;
  useKeys({
    "mod+s": () => {
      if (canSave) void draft.save();
    },
  });
  if (yaml.data === undefined) {
    if (yaml.error === null) return <div className="bone" aria-busy="true" />;
    return <FailureNote error={yaml.error} retry={() => void yaml.refetch()} busy={yaml.isFetching} />;
  }
  const lines = draft.text.split("\n");
  const bad = new Set(draft.problems.map(({ line }) => line));
  const showLine = (line: number): void => {
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    area.current?.focus();
    area.current?.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  };
  return (
    <div className={styles.view}>
      {refusal !== undefined && <Note icon="lock">{refusal}</Note>}
      {isMasked && (
        <Note icon="lock" actions={<CopyLine text={w.text.maskedCommand} />}>
          {w.text.masked}
        </Note>
      )}
      {draft.problems.map(({ text, hint, isWarning, line }) => (
        <Note
          key={text}
          bad={!isWarning}
          actions={
            line !== null && (
              <Button small onClick={() => showLine(line)}>
                {w.showLine(line)}
              </Button>
            )
          }
        >
          {text}. {hint}
        </Note>
      ))}
      {draft.isStale && (
        <section className={styles.stale} role="alert">
          <p>{w.text.stale}</p>
          <b>{w.text.theirs}</b>
          <pre>{yaml.data.text}</pre>
          <div>
            <Button onClick={draft.discard}>{w.text.useTheirs}</Button>
            <Button onClick={draft.keepMine}>{w.text.keepMine}</Button>
          </div>
        </section>
      )}
      {draft.isStale && <b>{w.text.mine}</b>}
      <div className={styles.editor}>
        <div className={styles.numbers} aria-hidden="true">
          {lines.map((_, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is identified by its number
            <span key={index} className={bad.has(index + 1) ? styles.bad : undefined}>
              {index + 1}
            </span>
          ))}
        </div>
        <textarea
          ref={area}
          aria-label={w.text.label}
          aria-invalid={draft.problems.some(({ isWarning }) => !isWarning) || undefined}
          aria-busy={draft.isSaving || undefined}
          wrap="off"
          spellCheck={false}
          autoComplete="off"
          rows={lines.length}
          readOnly={isLocked}
          value={draft.text}
          onChange={(event) => draft.write(event.target.value)}
        />
      </div>
      {!isLocked && (
        <div className={styles.actions}>
          <Button kind="quiet" disabled={!draft.isChanged || draft.isSaving} onClick={draft.discard}>
            {w.text.revert}
          </Button>
          <Button
            kind="main"
            busy={draft.isSaving}
            disabled={!canSave && !draft.isSaving}
            onClick={() => void draft.save()}
          >
            {w.text.save}
          </Button>
        </div>
      )}
    </div>
  );
}
