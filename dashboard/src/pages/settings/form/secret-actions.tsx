import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Setting } from "../../../../../src/api/contract/setup/settings.ts";
import { Button } from "../../../components/controls/button.tsx";
import { ConfirmDialog } from "../../../components/layout/confirm-dialog.tsx";
import { SecretDialog } from "../../../components/layout/secret-dialog.tsx";
import { useToasts } from "../../../components/layout/toast.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { removeSecret, storeSecret } from "../../../data/secrets.ts";
import { pageWords } from "../../../words/page-words.ts";
import { sentenceOf } from "../../../words/problem-words.ts";

const w = pageWords.settings.secret;

/** Sets, replaces and removes a secret setting, which is never shown. */
export function SecretActions({ profile, setting }: { readonly profile: string; readonly setting: Setting }) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const [open, setOpen] = useState<"set" | "remove">();
  const { key, variable, isSet } = setting;
  const close = (): void => setOpen(undefined);
  const refresh = (): Promise<void> => client.invalidateQueries({ queryKey: ["settings", profile] });
  const remove = useMutation({
    mutationFn: () => removeSecret(api, profile, variable),
    onError: (error) => toasts.refuse(sentenceOf(error)),
    onSuccess: refresh,
    onSettled: close,
  });
  return (
    <>
      <Button small aria-label={`${isSet ? w.replace : w.setIt} ${key}`} onClick={() => setOpen("set")}>
        {isSet ? w.replace : w.setIt}
      </Button>
      {isSet && (
        <Button small kind="quiet" aria-label={`${w.remove} ${key}`} onClick={() => setOpen("remove")}>
          {w.remove}
        </Button>
      )}
      {open === "set" && (
        <SecretDialog
          title={key}
          label={w.field}
          hint={w.fieldHint(variable)}
          saveLabel={w.save}
          save={async (value) => {
            await storeSecret(api, { profile, variable, isReplaced: isSet }, value);
            toasts.say(w.stored(key));
            await refresh();
          }}
          onClose={close}
        />
      )}
      {open === "remove" && (
        <ConfirmDialog
          title={w.removeTitle(key)}
          confirmLabel={w.removeNow}
          busy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={close}
        >
          <p className="soft">{w.removeText(variable)}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
