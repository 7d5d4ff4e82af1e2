import { useQuery } from "@tanstack/react-query";
import type { ModelsAnswer } from "../../../../src/api/contract/setup/models.ts";
import { Icon } from "../../components/controls/icon.tsx";
import { FailureNote } from "../../components/layout/note.tsx";
import { Section } from "../../components/layout/section.tsx";
import { useApi } from "../../data/app-data.tsx";
import { useSettingsChanges } from "../../data/use-settings-changes.ts";
import { useProfile, useProfileTitle } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { pageWords } from "../../words/page-words.ts";
import { words } from "../../words/words.ts";
import { Catalogue } from "./catalogue.tsx";
import { Keys } from "./keys.tsx";
import { keysQuery, modelsQuery } from "./model-queries.ts";
import styles from "./models.module.css";

const w = pageWords.models;

/** The default model of the profile, the keys of its providers, and the models to choose from. */
export function ModelsPage() {
  const api = useApi();
  const profile = useProfile();
  const models = useQuery(modelsQuery(api, profile));
  const keys = useQuery(keysQuery(api, profile));
  useSettingsChanges("models", profile);
  usePageTitle(useProfileTitle(words.shell.pages.models));
  return (
    <div className={styles.page}>
      <h1>{w.title(profile)}</h1>
      {models.data === undefined ? (
        <Waiting query={models} />
      ) : (
        <Section title={w.current}>
          <Current models={models.data} />
        </Section>
      )}
      {keys.data === undefined ? (
        <Waiting query={keys} />
      ) : (
        <Keys key={profile} profile={profile} answer={keys.data} />
      )}
      {models.data !== undefined && <Catalogue key={profile} profile={profile} models={models.data} />}
    </div>
  );
}

function Current({ models }: { readonly models: ModelsAnswer }) {
  const { current, problem, fixedBy } = models;
  if (current === null)
    return (
      <div className={styles.current}>
        <p>{w.none}</p>
        {problem !== null && (
          <p className="faint">
            {problem.text} {problem.hint}
          </p>
        )}
      </div>
    );
  return (
    <div className={styles.current}>
      <b>{current.model}</b>
      <p className="soft">
        {[
          current.provider,
          w.at(current.address),
          current.keyFrom === null ? w.noKey : w.key(current.keyFrom),
          current.place === null ? w.ofProvider : w.from(current.place),
        ].join(" · ")}
      </p>
      {fixedBy !== null && (
        <p className="faint">
          <Icon name="lock" /> {w.fixed(fixedBy)}
        </p>
      )}
    </div>
  );
}

function Waiting({
  query,
}: {
  readonly query: { readonly error: Error | null; readonly isFetching: boolean; refetch(): unknown };
}) {
  if (query.error !== null)
    return <FailureNote error={query.error} retry={() => void query.refetch()} busy={query.isFetching} />;
  return (
    <div className={styles.bones} aria-busy="true">
      <div className="bone" style={{ width: "30%" }} />
      <div className="bone" style={{ width: "55%" }} />
      <div className="bone" style={{ width: "42%" }} />
    </div>
  );
}
