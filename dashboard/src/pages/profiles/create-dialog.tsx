import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { CreatedProfile, NewProfile } from "../../../../src/api/contract/setup/profiles.ts";
import { Button } from "../../components/controls/button.tsx";
import { Select, TextField } from "../../components/controls/field.tsx";
import { Dialog } from "../../components/layout/dialog.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { useApi } from "../../data/app-data.tsx";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { refreshProfiles } from "./profile-queries.ts";
import styles from "./profiles.module.css";

const w = pageWords.profiles.form;

interface CreateDialogProps {
  /** The profile to copy; can be changed in the dialog. */
  readonly from: string | undefined;
  readonly names: readonly string[];
  onClose(): void;
}

export function CreateDialog({ from, names, onClose }: CreateDialogProps) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [source, setSource] = useState(from ?? "");
  const [everything, setEverything] = useState(false);
  const [channels, setChannels] = useState(false);
  const create = useMutation({
    mutationFn: (profile: NewProfile) => api.send<CreatedProfile>("POST", "profiles", profile),
    onSuccess: async (created) => {
      toasts.say(w.created(created.name));
      await refreshProfiles(client, api);
      onClose();
    },
  });
  const submit = (): void => {
    if (create.isPending || name.trim() === "") return;
    const copy = source === "" ? {} : { cloneFrom: source, everything, channels };
    create.mutate({ name: name.trim(), description: description.trim(), ...copy });
  };
  return (
    <Dialog
      title={from === undefined ? w.createTitle : w.cloneTitle(from)}
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {words.shell.cancel}
          </Button>
          <Button kind="main" type="submit" busy={create.isPending} disabled={name.trim() === ""}>
            {w.save}
          </Button>
        </>
      }
    >
      <TextField
        label={w.name}
        hint={w.nameHint}
        problem={create.error === null ? undefined : sentenceOf(create.error)}
        autoComplete="off"
        spellCheck={false}
        value={name}
        onChange={(event) => {
          setName(event.target.value);
          create.reset();
        }}
      />
      <TextField
        label={w.description}
        autoComplete="off"
        maxLength={2_000}
        value={description}
        onChange={(event) => setDescription(event.target.value)}
      />
      <Select label={w.from} value={source} onChange={(event) => setSource(event.target.value)}>
        <option value="">{w.empty}</option>
        {names.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </Select>
      {source !== "" && (
        <>
          <label className={styles.choice}>
            <input
              type="checkbox"
              checked={everything}
              onChange={(event) => setEverything(event.target.checked)}
            />
            {w.everything}
          </label>
          <label className={styles.choice}>
            <input
              type="checkbox"
              checked={channels}
              onChange={(event) => setChannels(event.target.checked)}
            />
            {w.channels}
          </label>
        </>
      )}
    </Dialog>
  );
}
