import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Profile, ProfileEdit } from "../../../../src/api/contract/setup/profiles.ts";
import { Button } from "../../components/controls/button.tsx";
import { TextArea, TextField } from "../../components/controls/field.tsx";
import { Dialog } from "../../components/layout/dialog.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { useApi } from "../../data/app-data.tsx";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { profilePath, refreshProfiles } from "./profile-queries.ts";

const w = pageWords.profiles.describeForm;

export function DescribeDialog({ profile, onClose }: { readonly profile: Profile; onClose(): void }) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const [displayName, setDisplayName] = useState(profile.displayName);
  const [description, setDescription] = useState(profile.description);
  const save = useMutation({
    mutationFn: (edit: ProfileEdit) => api.send("PATCH", profilePath(profile.name), edit),
    onSuccess: async () => {
      toasts.say(w.saved);
      await refreshProfiles(client, api);
      onClose();
    },
  });
  const submit = (): void => {
    // Only what was changed here is sent, so that a change elsewhere to the other field stays.
    const edit = {
      ...(displayName !== profile.displayName && { displayName: displayName.trim() }),
      ...(description !== profile.description && { description: description.trim() }),
    };
    if (Object.keys(edit).length === 0) onClose();
    else if (!save.isPending) save.mutate(edit);
  };
  return (
    <Dialog
      title={w.title(profile.name)}
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {words.shell.cancel}
          </Button>
          <Button kind="main" type="submit" busy={save.isPending}>
            {w.save}
          </Button>
        </>
      }
    >
      <TextArea
        label={pageWords.profiles.form.description}
        problem={save.error === null ? undefined : sentenceOf(save.error)}
        maxLength={2_000}
        value={description}
        onChange={(event) => setDescription(event.target.value)}
        onSubmitKey={submit}
      />
      <TextField
        label={w.displayName}
        autoComplete="off"
        maxLength={64}
        value={displayName}
        onChange={(event) => setDisplayName(event.target.value)}
      />
    </Dialog>
  );
}
