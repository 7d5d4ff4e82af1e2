import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type {
  DefaultModelSet,
  ListedModel,
  ModelsAnswer,
} from "../../../../src/api/contract/setup/models.ts";
import { Button } from "../../components/controls/button.tsx";
import { TextField } from "../../components/controls/field.tsx";
import { rowList, Section } from "../../components/layout/section.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { When } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { useKeys } from "../../shell/keys/keys.tsx";
import { useRefusal } from "../../shell/use-refusal.ts";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { modelsQuery, profilePath } from "./model-queries.ts";
import styles from "./models.module.css";

const w = pageWords.models;

/** Of a longer list, only the first are shown until somebody searches. */
const SHOWN = 12;
const SHOWN_OF_SEARCH = 60;

/** The models of all providers; one of them becomes the default. */
export function Catalogue({ profile, models }: { readonly profile: string; readonly models: ModelsAnswer }) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const refusal = useRefusal("admin");
  const [typed, setTyped] = useState("");
  const search = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => search.current?.focus() });
  const refuse = (error: Error): void => toasts.refuse(sentenceOf(error));
  const refresh = useMutation({
    mutationFn: () => api.send<ModelsAnswer>("POST", `${profilePath(profile)}/models/refresh`, {}),
    onError: refuse,
    onSuccess: (answer) => {
      client.setQueryData(modelsQuery(api, profile).queryKey, answer);
      toasts.say(w.catalogue.refreshed);
    },
  });
  const choose = useMutation({
    mutationFn: (model: string) =>
      api.send<DefaultModelSet>("PUT", `${profilePath(profile)}/model`, { model }),
    onError: refuse,
    onSuccess: async ({ provider, model }) => {
      toasts.say(w.chosen(`${provider}:${model}`));
      await client.invalidateQueries({ queryKey: ["models", profile] });
    },
  });
  const terms = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ reference }: ListedModel): boolean =>
    terms.every((term) => reference.toLowerCase().includes(term));
  const limit = terms.length === 0 ? SHOWN : SHOWN_OF_SEARCH;
  const groups = models.providers
    .filter(({ isUsable }) => isUsable || terms.length > 0)
    .map((group) => ({ ...group, models: group.models.filter(fits) }))
    .filter((group) => group.models.length > 0 || (group.problem !== null && terms.length === 0));
  const mayChoose = refusal === undefined && models.fixedBy === null;
  return (
    <Section
      title={w.catalogue.title}
      end={
        refusal === undefined && (
          <Button small busy={refresh.isPending} onClick={() => refresh.mutate()}>
            {w.catalogue.refresh}
          </Button>
        )
      }
    >
      <div className={styles.find}>
        <TextField
          ref={search}
          type="search"
          label={w.catalogue.find}
          bare
          placeholder={w.catalogue.find}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </div>
      {groups.length === 0 && (
        <p className="faint" role="status">
          {w.catalogue.noneFound}
        </p>
      )}
      {groups.map((group) => (
        <section key={group.provider} className={styles.group} aria-label={group.provider}>
          <h3>
            {group.provider}
            <small>
              {group.listedAt === null ? (
                group.isUsable ? (
                  w.catalogue.wellKnown
                ) : (
                  w.catalogue.unusable
                )
              ) : (
                <>
                  {w.catalogue.listed} <When at={group.listedAt} />
                </>
              )}
            </small>
          </h3>
          {group.problem !== null && <p className={styles.failed}>{group.problem}</p>}
          <ul className={rowList}>
            {group.models.slice(0, limit).map((model) => (
              <ModelRow
                key={model.reference}
                model={model}
                mayChoose={mayChoose && group.isUsable}
                busy={choose.isPending && choose.variables === model.reference}
                onChoose={() => choose.mutate(model.reference)}
              />
            ))}
          </ul>
          {group.models.length > limit && (
            <p className="faint">{w.catalogue.more(group.models.length - limit)}</p>
          )}
        </section>
      ))}
    </Section>
  );
}

interface ModelRowProps {
  readonly model: ListedModel;
  readonly mayChoose: boolean;
  readonly busy: boolean;
  onChoose(): void;
}

function ModelRow({ model, mayChoose, busy, onChoose }: ModelRowProps) {
  const { catalogue } = w;
  const facts = [
    catalogue.window(model.contextTokens),
    catalogue.price(model.price),
    model.vision === true ? catalogue.vision : "",
    model.reasoning === true ? catalogue.reasoning : "",
    model.isFavourite ? catalogue.favourite : "",
  ].filter((fact) => fact !== "");
  return (
    <li className={styles.model}>
      <b className="mono">{model.name}</b>
      <span className="faint">{facts.join(" · ")}</span>
      {model.isDefault ? (
        <span className={styles.isDefault}>{catalogue.isDefault}</span>
      ) : (
        mayChoose && (
          <Button small busy={busy} aria-label={`${catalogue.use} ${model.reference}`} onClick={onChoose}>
            {catalogue.use}
          </Button>
        )
      )}
    </li>
  );
}
