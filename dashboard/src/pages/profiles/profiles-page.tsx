import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Profile } from "../../../../src/api/contract/setup/profiles.ts";
import { Button } from "../../components/controls/button.tsx";
import { Menu, type MenuEntry } from "../../components/controls/menu.tsx";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { rowList } from "../../components/layout/section.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { useApi } from "../../data/app-data.tsx";
import { profilesQuery } from "../../data/queries.ts";
import { useChooseProfile, useProfile } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { useRefusal } from "../../shell/use-refusal.ts";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { CreateDialog } from "./create-dialog.tsx";
import { DescribeDialog } from "./describe-dialog.tsx";
import { profilePath, profileQuery, refreshProfiles, useProfileEvents } from "./profile-queries.ts";
import styles from "./profiles.module.css";
import { RemoveDialog } from "./remove-dialog.tsx";

const w = pageWords.profiles;

type Open =
  | { readonly dialog: "create"; readonly from: string | undefined }
  | { readonly dialog: "describe" | "remove"; readonly profile: Profile };

/** All profiles of the home. */
export function ProfilesPage() {
  const api = useApi();
  const profiles = useQuery(profilesQuery(api));
  const refusal = useRefusal("admin");
  const [open, setOpen] = useState<Open>();
  useProfileEvents();
  usePageTitle(words.shell.pages.profiles);
  const close = (): void => setOpen(undefined);
  const names = profiles.data?.profiles.map(({ name }) => name) ?? [];
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <div>
          <h1>{w.title}</h1>
          <p className="faint">{w.hint}</p>
        </div>
        {refusal === undefined && (
          <Button icon="plus" onClick={() => setOpen({ dialog: "create", from: undefined })}>
            {w.create}
          </Button>
        )}
      </header>
      {refusal !== undefined && <Note icon="lock">{refusal}</Note>}
      {profiles.data === undefined && profiles.error !== null && (
        <FailureNote
          error={profiles.error}
          retry={() => void profiles.refetch()}
          busy={profiles.isFetching}
        />
      )}
      <ul className={rowList}>
        {names.map((name) => (
          <ProfileRow key={name} name={name} refusal={refusal} onOpen={setOpen} />
        ))}
      </ul>
      {open?.dialog === "create" && <CreateDialog from={open.from} names={names} onClose={close} />}
      {open?.dialog === "describe" && <DescribeDialog profile={open.profile} onClose={close} />}
      {open?.dialog === "remove" && <RemoveDialog profile={open.profile} onClose={close} />}
    </div>
  );
}

interface ProfileRowProps {
  readonly name: string;
  readonly refusal: string | undefined;
  onOpen(open: Open): void;
}

function ProfileRow({ name, refusal, onOpen }: ProfileRowProps) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const shown = useProfile();
  const show = useChooseProfile();
  const profile = useQuery(profileQuery(api, name));
  const use = useMutation({
    mutationFn: () => api.send("POST", `${profilePath(name)}/use`, {}),
    onError: (error) => toasts.refuse(sentenceOf(error)),
    onSuccess: async () => {
      toasts.say(w.used(name));
      await refreshProfiles(client, api);
    },
  });
  const { data } = profile;
  if (data === undefined)
    return (
      <li className={styles.row}>
        <b>{name}</b>
        {profile.error === null ? (
          <span className="bone" aria-busy="true" />
        ) : (
          <FailureNote error={profile.error} retry={() => void profile.refetch()} busy={profile.isFetching} />
        )}
      </li>
    );
  const items: readonly MenuEntry[] = [
    { label: w.describe, run: () => onOpen({ dialog: "describe", profile: data }) },
    { label: w.clone, run: () => onOpen({ dialog: "create", from: name }) },
    "line",
    {
      label: w.remove,
      danger: true,
      refusal: data.protectedBecause ?? undefined,
      run: () => onOpen({ dialog: "remove", profile: data }),
    },
  ];
  return (
    <li className={styles.row}>
      <div className={styles.about}>
        <p className={styles.name}>
          <b>{name}</b>
          {data.displayName !== "" && <span>{data.displayName}</span>}
          {data.isActive && <span className={styles.mark}>{w.active}</span>}
          {name === shown && <span className={styles.mark}>{w.shown}</span>}
        </p>
        <p className={data.description === "" ? "faint" : "soft"}>{data.description || w.noDescription}</p>
        <p className="faint">
          {[data.model ?? w.noModel, data.backend, w.facts(data.sessions, data.costUsd)].join(" · ")}
          {data.hasGateway && ` · ${w.gateway}`}
        </p>
        {data.problems > 0 && <p className={styles.waits}>{w.problems(data.problems)}</p>}
      </div>
      <div className={styles.actions}>
        {name !== shown && (
          <Button small aria-label={`${w.show}: ${name}`} onClick={() => show(name)}>
            {w.show}
          </Button>
        )}
        {refusal === undefined && (
          <>
            {!data.isActive && (
              <Button
                small
                busy={use.isPending}
                aria-label={`${w.use}: ${name}`}
                onClick={() => use.mutate()}
              >
                {w.use}
              </Button>
            )}
            <Menu
              small
              kind="quiet"
              icon="more"
              name={w.more(name)}
              aria-label={w.more(name)}
              items={items}
            />
          </>
        )}
      </div>
    </li>
  );
}
