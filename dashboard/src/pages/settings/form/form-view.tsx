import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useRef } from "react";
import type { Setting, SettingsAnswer } from "../../../../../src/api/contract/setup/settings.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Select, TextField } from "../../../components/controls/field.tsx";
import { Note } from "../../../components/layout/note.tsx";
import { Section } from "../../../components/layout/section.tsx";
import { useKeys } from "../../../shell/keys/keys.tsx";
import { useRefusal } from "../../../shell/use-refusal.ts";
import { pageWords } from "../../../words/page-words.ts";
import { readSettingsSearch } from "../settings-search.ts";
import styles from "./form-view.module.css";
import { SaveBar } from "./save-bar.tsx";
import { SettingRow } from "./setting-row.tsx";
import { useSettingsForm } from "./use-settings-form.ts";

const w = pageWords.settings;

interface FormViewProps {
  readonly profile: string;
  readonly answer: SettingsAnswer;
}

const sectionOf = ({ key }: Setting): string => key.split(".")[0] ?? key;

/** The settings of one section, or of all that were searched for, with one bar to save them. */
export function FormView({ profile, answer }: FormViewProps) {
  const navigate = useNavigate();
  const { section: named } = useParams({ strict: false }) as { section?: string };
  const { q = "" } = readSettingsSearch(useSearch({ strict: false }));
  const refusal = useRefusal("admin");
  const form = useSettingsForm(profile, answer);
  const search = useRef<HTMLInputElement>(null);
  const sections = [...new Set(answer.settings.map(sectionOf))];
  const section = named !== undefined && sections.includes(named) ? named : (sections[0] ?? "");
  const count = Object.keys(form.drafts).length;
  const canSave = refusal === undefined && count > 0 && form.conflicts === 0 && form.saving.size === 0;
  useKeys({
    "/": () => search.current?.focus(),
    "mod+s": () => {
      if (canSave) void form.save();
    },
  });
  const setSearch = (next: string): void =>
    void navigate({
      to: ".",
      replace: true,
      resetScroll: false,
      search: (earlier: Record<string, unknown>) => ({ ...earlier, q: next === "" ? undefined : next }),
    });
  const goTo = (name: string): void =>
    void navigate({
      to: "/settings/$section",
      params: { section: name },
      search: (earlier: Record<string, unknown>) => ({ ...earlier, q: undefined }),
    });
  const shown = answer.settings.filter((setting) =>
    q === "" ? sectionOf(setting) === section : matches(setting, q),
  );
  const changedIn = (name: string): number =>
    Object.keys(form.drafts).filter((key) => key.split(".")[0] === name).length;

  return (
    <div className={styles.columns}>
      <div className={styles.side}>
        <TextField
          ref={search}
          type="search"
          label={w.find}
          bare
          placeholder={`${w.find}  /`}
          value={q}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape" && q !== "") setSearch("");
          }}
        />
        <nav className={styles.sections} aria-label={w.sections}>
          {sections.map((name) => (
            <button
              key={name}
              type="button"
              aria-current={q === "" && name === section ? "true" : undefined}
              onClick={() => goTo(name)}
            >
              <span className="clip">{name}</span>
              {changedIn(name) > 0 && <span className={styles.changed}>{changedIn(name)}</span>}
            </button>
          ))}
        </nav>
        <div className={styles.picker}>
          <Select label={w.sections} bare value={section} onChange={(event) => goTo(event.target.value)}>
            {sections.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </Select>
        </div>
      </div>
      <div className={styles.content}>
        {refusal !== undefined && <Note icon="lock">{refusal}</Note>}
        <Problems answer={answer} onShow={goTo} />
        {shown.length === 0 ? (
          <p className="soft" role="status">
            {w.noneFound}
          </p>
        ) : (
          <Section title={q === "" ? section : w.find} fact={shown.length}>
            <ul className={styles.rows}>
              {shown.map((setting) => (
                <SettingRow
                  key={setting.key}
                  profile={profile}
                  setting={setting}
                  form={form}
                  refusal={refusal}
                />
              ))}
            </ul>
          </Section>
        )}
        {count > 0 && <SaveBar form={form} canSave={canSave} />}
      </div>
    </div>
  );
}

function matches({ key, description }: Setting, q: string): boolean {
  const text = `${key} ${description}`.toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The problems that `hermes config check` would report; each leads to its section. */
function Problems({ answer, onShow }: { readonly answer: SettingsAnswer; onShow(section: string): void }) {
  const known = new Set(answer.settings.map(({ key }) => key));
  return answer.problems.map(({ key, text, hint, isWarning }) => {
    const section = key !== null && known.has(key) ? key.split(".")[0] : undefined;
    const actions = section !== undefined && (
      <Button small onClick={() => onShow(section)}>
        {w.show(section)}
      </Button>
    );
    return (
      <Note key={text} bad={!isWarning} actions={actions}>
        {text}. {hint}
      </Note>
    );
  });
}
