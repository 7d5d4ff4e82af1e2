import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Profile, ProfileRemoval, RemovedProfile } from "../../../../src/api/contract/setup/profiles.ts";
import { TextField } from "../../components/controls/field.tsx";
import { ConfirmDialog } from "../../components/layout/confirm-dialog.tsx";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { useApi } from "../../data/app-data.tsx";
import { useLeaveProfile } from "../../shell/profile.tsx";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { profilePath, refreshProfiles, removalQuery } from "./profile-queries.ts";
import styles from "./profiles.module.css";

const w = pageWords.profiles.removal;

/** Shows what the deletion ends, and takes the name of the profile as confirmation. */
export function RemoveDialog({ profile: { name }, onClose }: { readonly profile: Profile; onClose(): void }) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const leave = useLeaveProfile();
  const [typed, setTyped] = useState("");
  const preview = useQuery(removalQuery(api, name));
  const remove = useMutation({
    mutationFn: () => api.send<RemovedProfile>("DELETE", profilePath(name)),
    onSuccess: async ({ keptIn, notes }) => {
      toasts.say([w.done(name, keptIn), ...notes].join(" "));
      leave(name);
      await refreshProfiles(client, api);
      onClose();
    },
  });
  const refusal = preview.data?.refusal ?? undefined;
  return (
    <ConfirmDialog
      title={w.title(name)}
      confirmLabel={w.now}
      busy={remove.isPending}
      disabled={preview.data === undefined || refusal !== undefined || typed.trim() !== name}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      {preview.error !== null && (
        <FailureNote error={preview.error} retry={() => void preview.refetch()} busy={preview.isFetching} />
      )}
      {preview.data === undefined && preview.error === null && <p className="faint">{w.reading}</p>}
      {refusal !== undefined && (
        <Note bad>
          {refusal.text} {refusal.hint}
        </Note>
      )}
      {preview.data !== undefined && refusal === undefined && (
        <ul className={styles.ends}>
          {describe(preview.data).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      {refusal === undefined && (
        <TextField
          label={w.confirm(name)}
          problem={remove.error === null ? undefined : sentenceOf(remove.error)}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      )}
    </ConfirmDialog>
  );
}

function describe({
  home,
  sessions,
  sandboxes,
  tasks,
  settings,
  hasGateway,
}: ProfileRemoval): readonly string[] {
  return [
    w.kept(home),
    ...(sessions > 0 ? [w.sessions(sessions)] : []),
    ...(sandboxes.length > 0 ? [w.sandboxes(sandboxes)] : []),
    ...tasks.map(({ board, count }) => w.tasks(board, count)),
    ...settings.map(({ profile, key }) => w.setting(profile, key)),
    ...(hasGateway ? [w.gateway] : []),
  ];
}
