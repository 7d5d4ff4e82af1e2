import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { KeysAnswer, KeyTest, ProviderKey } from "../../../../src/api/contract/setup/models.ts";
import { Button } from "../../components/controls/button.tsx";
import { ConfirmDialog } from "../../components/layout/confirm-dialog.tsx";
import { Note } from "../../components/layout/note.tsx";
import { SecretDialog } from "../../components/layout/secret-dialog.tsx";
import { rowList, Section } from "../../components/layout/section.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { When } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { removeSecret, storeSecret, testSecretPath } from "../../data/secrets.ts";
import { useRefusal } from "../../shell/use-refusal.ts";
import { exactTime } from "../../words/format.ts";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import styles from "./models.module.css";

const w = pageWords.models.keys;

type Provider = KeysAnswer["providers"][number];

interface Open {
  readonly dialog: "set" | "replace" | "remove";
  readonly variable: string;
  readonly provider: string;
}

/** The keys of each provider. A value is only ever sent to the server. */
export function Keys({ profile, answer }: { readonly profile: string; readonly answer: KeysAnswer }) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const refusal = useRefusal("admin");
  const [open, setOpen] = useState<Open>();
  const [showsAll, setShowsAll] = useState(false);
  const close = (): void => setOpen(undefined);
  const refresh = (): Promise<void> => client.invalidateQueries({ queryKey: ["models", profile] });
  const remove = useMutation({
    mutationFn: (variable: string) => removeSecret(api, profile, variable),
    onError: (error) => toasts.refuse(sentenceOf(error)),
    onSuccess: async (_, variable) => {
      toasts.say(w.removed(variable));
      await refresh();
    },
    onSettled: close,
  });
  const store = async (value: string): Promise<void> => {
    if (open === undefined) return;
    const { variable, dialog } = open;
    await storeSecret(api, { profile, variable, isReplaced: dialog === "replace" }, value);
    toasts.say(w.stored(variable));
    await refresh();
  };
  const withKeys = answer.providers.filter(({ keys, isCurrent }) => keys.length > 0 || isCurrent);
  const common = withKeys.length === 0 ? answer.providers.slice(0, 4) : withKeys;
  const shown = showsAll ? answer.providers : common;
  const hidden = answer.providers.length - shown.length;
  return (
    <Section title={w.title} fact={w.hint}>
      {refusal !== undefined && <Note icon="lock">{refusal}</Note>}
      {answer.isOverridden && <Note>{w.overridden}</Note>}
      <ul className={rowList}>
        {shown.map((provider) => (
          <ProviderRow
            key={provider.provider}
            profile={profile}
            provider={provider}
            refusal={refusal}
            onOpen={(dialog, variable) => setOpen({ dialog, variable, provider: provider.provider })}
          />
        ))}
      </ul>
      {hidden > 0 && (
        <Button kind="quiet" onClick={() => setShowsAll(true)}>
          {w.more(hidden)}
        </Button>
      )}
      {open !== undefined && open.dialog !== "remove" && (
        <SecretDialog
          title={open.dialog === "set" ? w.setTitle(open.provider) : w.replaceTitle(open.variable)}
          label={w.field}
          hint={w.fieldHint(open.variable)}
          saveLabel={w.save}
          save={store}
          onClose={close}
        />
      )}
      {open?.dialog === "remove" && (
        <ConfirmDialog
          title={w.removeTitle(open.variable)}
          confirmLabel={w.removeNow}
          busy={remove.isPending}
          onConfirm={() => remove.mutate(open.variable)}
          onClose={close}
        >
          <p className="soft">{w.removeText}</p>
        </ConfirmDialog>
      )}
    </Section>
  );
}

interface ProviderRowProps {
  readonly profile: string;
  readonly provider: Provider;
  readonly refusal: string | undefined;
  onOpen(dialog: Open["dialog"], variable: string): void;
}

function ProviderRow({ profile, provider, refusal, onOpen }: ProviderRowProps) {
  const { keys, nextVariable } = provider;
  return (
    <li className={styles.provider}>
      <div className={styles.providerHead}>
        <b>{provider.provider}</b>
        {keys.length === 0 && <span className="faint">{w.none}</span>}
        {refusal === undefined && nextVariable !== null && (
          <Button
            small
            kind={keys.length === 0 ? "plain" : "quiet"}
            className="push"
            aria-label={`${keys.length === 0 ? w.set : w.another} ${provider.provider}`}
            onClick={() => onOpen("set", nextVariable)}
          >
            {keys.length === 0 ? w.set : w.another}
          </Button>
        )}
      </div>
      {keys.map((key) => (
        <KeyRow key={key.variable} profile={profile} of={key} refusal={refusal} onOpen={onOpen} />
      ))}
    </li>
  );
}

function KeyRow({
  profile,
  of: key,
  refusal,
  onOpen,
}: Pick<ProviderRowProps, "profile" | "refusal" | "onOpen"> & { readonly of: ProviderKey }) {
  const api = useApi();
  const client = useQueryClient();
  const { variable, isFixed } = key;
  const test = useMutation({
    mutationFn: () => api.send<KeyTest>("POST", testSecretPath(profile, variable), {}),
    onSettled: () => client.invalidateQueries({ queryKey: ["models", profile, "keys"] }),
  });
  return (
    <div className={styles.key}>
      <span className="mono">{variable}</span>
      <span className={styles.state}>
        <KeyState of={key} />
        {isFixed && <span className="faint"> · {w.isFixed}</span>}
      </span>
      {refusal === undefined && (
        <span className={styles.keyActions}>
          <Button
            small
            busy={test.isPending}
            title={w.testHint}
            aria-label={`${w.test} ${variable}`}
            onClick={() => test.mutate()}
          >
            {w.test}
          </Button>
          {!isFixed && (
            <>
              <Button
                small
                aria-label={`${w.replace} ${variable}`}
                onClick={() => onOpen("replace", variable)}
              >
                {w.replace}
              </Button>
              <Button
                small
                kind="quiet"
                aria-label={`${w.remove} ${variable}`}
                onClick={() => onOpen("remove", variable)}
              >
                {w.remove}
              </Button>
            </>
          )}
        </span>
      )}
      <TestResult result={test.data} error={test.error} />
    </div>
  );
}

function KeyState({ of: { state, coolingUntil, usedAt } }: { readonly of: ProviderKey }) {
  if (state === "refused") return <span className={styles.bad}>{w.refused}</span>;
  if (state === "cooling")
    return <span className={styles.waits}>{w.cooling(exactTime(coolingUntil ?? 0))}</span>;
  if (usedAt === null) return <span className="faint">{w.untested}</span>;
  return (
    <span className="soft">
      {w.used} <When at={usedAt} />
    </span>
  );
}

function TestResult({
  result,
  error,
}: {
  readonly result: KeyTest | undefined;
  readonly error: Error | null;
}) {
  const failed = error !== null ? sentenceOf(error) : result?.works === false ? result.message : undefined;
  if (failed !== undefined)
    return (
      <p className={styles.failed} role="alert">
        {failed}
      </p>
    );
  return result === undefined ? null : (
    <p className={styles.works} role="status">
      {w.works(result.model ?? "")}
    </p>
  );
}
