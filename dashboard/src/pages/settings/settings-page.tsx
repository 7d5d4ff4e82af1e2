import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Tabs } from "../../components/controls/tabs.tsx";
import { FailureNote } from "../../components/layout/note.tsx";
import { useApi } from "../../data/app-data.tsx";
import { useSettingsChanges } from "../../data/use-settings-changes.ts";
import { useProfile, useProfileTitle } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { pageWords } from "../../words/page-words.ts";
import { words } from "../../words/words.ts";
import { FormView } from "./form/form-view.tsx";
import styles from "./settings.module.css";
import { settingsQuery } from "./settings-queries.ts";
import { readSettingsSearch } from "./settings-search.ts";
import { YamlView } from "./yaml/yaml-view.tsx";

const w = pageWords.settings;

/** The settings of the profile, as a form or as the text of config.yaml. */
export function SettingsPage() {
  const api = useApi();
  const navigate = useNavigate();
  const profile = useProfile();
  const { view = "form" } = readSettingsSearch(useSearch({ strict: false }));
  const settings = useQuery(settingsQuery(api, profile));
  useSettingsChanges("settings", profile);
  usePageTitle(useProfileTitle(words.shell.pages.settings));
  const choose = (next: "form" | "yaml"): void =>
    void navigate({
      to: ".",
      replace: true,
      search: (earlier: Record<string, unknown>) => ({
        ...earlier,
        view: next === "yaml" ? next : undefined,
      }),
    });
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1>{w.title(profile)}</h1>
        {settings.data && <p className="faint mono">{w.file(settings.data.path)}</p>}
      </header>
      <Tabs
        label={w.views}
        tabs={[
          { name: "form", label: w.form },
          { name: "yaml", label: w.yaml },
        ]}
        chosen={view}
        onChoose={choose}
      >
        {settings.data === undefined ? (
          settings.error === null ? (
            <Skeleton />
          ) : (
            <FailureNote
              error={settings.error}
              retry={() => void settings.refetch()}
              busy={settings.isFetching}
            />
          )
        ) : view === "form" ? (
          <FormView key={profile} profile={profile} answer={settings.data} />
        ) : (
          <YamlView key={profile} profile={profile} />
        )}
      </Tabs>
    </div>
  );
}

function Skeleton() {
  return (
    <div aria-busy="true">
      {[46, 61, 38, 54, 43, 58].map((width) => (
        <div key={width} className={styles.bones}>
          <div className="bone" style={{ width: `${width / 2}%` }} />
          <div className="bone" style={{ width: `${width}%` }} />
        </div>
      ))}
    </div>
  );
}
