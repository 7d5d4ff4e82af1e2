import type { Setting } from "../../../../../src/api/contract/setup/settings.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Icon } from "../../../components/controls/icon.tsx";
import { pageWords } from "../../../words/page-words.ts";
import { shownText } from "./drafts.ts";
import { SecretActions } from "./secret-actions.tsx";
import { SettingField } from "./setting-field.tsx";
import styles from "./setting-row.module.css";
import type { SettingsForm } from "./use-settings-form.ts";

const w = pageWords.settings;

interface SettingRowProps {
  readonly profile: string;
  readonly setting: Setting;
  readonly form: SettingsForm;
  /** Why nothing can be saved in this browser. */
  readonly refusal: string | undefined;
}

/** One setting: its name and meaning, its field, and where its value is from. */
export function SettingRow({ profile, setting, form, refusal }: SettingRowProps) {
  const { key, description, stored, isSecret } = setting;
  const draft = form.drafts[key];
  const isRemoved = draft?.text === null;
  const isChanged = draft !== undefined;
  const canReset =
    !isSecret && setting.fixedBy === null && stored !== null && !isRemoved && !setting.isMasked;
  return (
    <li className={`${styles.row} ${isChanged ? styles.edited : ""}`} id={`setting-${key}`}>
      <div className={styles.about}>
        <b className={styles.name}>{key}</b>
        <p>{description}.</p>
      </div>
      <div className={styles.control}>
        {isSecret ? (
          <div className={styles.secret}>
            <span className={setting.isSet ? undefined : "faint"}>
              {setting.isSet ? w.secret.set : w.secret.notSet}
            </span>
            {refusal === undefined && setting.fixedBy === null && (
              <SecretActions profile={profile} setting={setting} />
            )}
          </div>
        ) : (
          <SettingField
            setting={setting}
            text={draft === undefined ? shownText(setting) : (draft.text ?? setting.default ?? "")}
            problem={form.problems[key] ?? (isChanged ? undefined : (setting.problem ?? undefined))}
            isLocked={refusal !== undefined || setting.fixedBy !== null || setting.isMasked}
            isSaving={form.saving.has(key)}
            onChange={(text) => form.change(setting, text)}
          />
        )}
        <small className={styles.origin}>
          <Origin setting={setting} isRemoved={isRemoved} />
          {refusal === undefined && canReset && (
            <button type="button" onClick={() => form.change(setting, null)}>
              {w.useDefault}
            </button>
          )}
          {isChanged && (
            <button type="button" onClick={() => form.drop([key])}>
              {w.undo}
            </button>
          )}
        </small>
        {form.isConflict(setting) && <Conflict setting={setting} form={form} />}
      </div>
    </li>
  );
}

/** The texts of values that contain nothing. */
const EMPTY: ReadonlySet<string> = new Set(["", "[]", "{}"]);

function Origin({ setting, isRemoved }: { readonly setting: Setting; readonly isRemoved: boolean }) {
  const { place, fixedBy, isSecret, problem, unusedUnless, isMasked } = setting;
  const { origins } = w;
  if (isRemoved) return <span>{w.isRemoved}</span>;
  const isFixed = fixedBy !== null;
  const standard = EMPTY.has(setting.default ?? "") ? origins.empty : (setting.default ?? "");
  const facts = [
    place === null
      ? problem === null
        ? origins.default
        : undefined
      : isFixed
        ? undefined
        : origins.file(place),
    place !== null && !isSecret && !isFixed ? origins.standard(standard) : undefined,
  ].filter((fact) => fact !== undefined);
  return (
    <>
      {isFixed && (
        <span className={styles.fixed}>
          <Icon name="lock" />
          {w.fixed(fixedBy)}
        </span>
      )}
      {facts.length > 0 && <span>{facts.join(", ")}</span>}
      {unusedUnless !== null && <span>{w.unused(unusedUnless)}</span>}
      {isMasked && <span>{w.masked}</span>}
    </>
  );
}

/** The file and the draft have different new values; the person chooses. */
function Conflict({ setting, form }: { readonly setting: Setting; readonly form: SettingsForm }) {
  return (
    <div className={styles.conflict} role="alert">
      <span>{setting.stored === null ? w.conflictRemoved : w.conflict(setting.stored)}</span>
      <Button small onClick={() => form.drop([setting.key])}>
        {w.useTheirs}
      </Button>
      <Button small onClick={() => form.keepMine(setting)}>
        {w.keepMine}
      </Button>
    </div>
  );
}
