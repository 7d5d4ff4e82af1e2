import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type {
  ApprovedPairing,
  PairedPerson,
  PlatformsAnswer,
} from "../../../../src/api/contract/setup/platforms.ts";
import { Button } from "../../components/controls/button.tsx";
import { Select, TextField } from "../../components/controls/field.tsx";
import { ConfirmDialog } from "../../components/layout/confirm-dialog.tsx";
import { Dialog } from "../../components/layout/dialog.tsx";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { Ago, When } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { useRefusal } from "../../shell/use-refusal.ts";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { profilePath } from "./platform-queries.ts";
import styles from "./platforms.module.css";

const w = pageWords.platforms;

interface PairingProps {
  readonly profile: string;
  readonly answer: PlatformsAnswer;
}

interface Person {
  readonly platform: string;
  readonly userId: string;
  readonly userName: string;
}

/** A name comes from a stranger, so its id is always beside it. */
function PersonName({ platform, userId, userName }: Person) {
  const [name, id] = [plainText(userName), plainText(userId)];
  return (
    <span className={styles.person}>
      <b>{name}</b> <span className="faint">{name === id ? platform : `${platform} · ${id}`}</span>
    </span>
  );
}

function useApprove(profile: string) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: ({ platform, code }: { readonly platform: string; readonly code: string }) => {
      const path = `${profilePath(profile)}/pairing/${encodeURIComponent(platform)}/approve`;
      return api.send<ApprovedPairing>("POST", path, { code });
    },
    onSuccess: ({ userName }) => {
      toasts.say(w.letInDone(plainText(userName)));
      return client.invalidateQueries({ queryKey: ["platforms", profile] });
    },
  });
}

/** Lets people in who wrote to the gateway, and ends their access. */
export function Pairing({ profile, answer }: PairingProps) {
  const toasts = useToasts();
  const refusal = useRefusal("admin");
  const approve = useApprove(profile);
  const [open, setOpen] = useState<"code" | PairedPerson>();
  const close = (): void => setOpen(undefined);
  const { waiting, people } = answer;
  return (
    <>
      <Section
        title={w.waiting}
        fact={waiting.length > 0 ? waiting.length : undefined}
        end={
          refusal === undefined &&
          waiting.length > 0 && (
            <Button small onClick={() => setOpen("code")}>
              {w.byCode}
            </Button>
          )
        }
      >
        {waiting.length === 0 && <p className={emptyText}>{w.nobody}</p>}
        <ul className={rowList}>
          {waiting.map((request) => (
            <li key={request.id} className={styles.row}>
              <PersonName {...request} />
              <span className="faint">
                {w.asked} <Ago at={request.requestedAt} />
              </span>
              {refusal === undefined && (
                <Button
                  small
                  kind="main"
                  busy={approve.isPending && approve.variables.code === request.id}
                  aria-label={`${w.letIn}: ${plainText(request.userName)}`}
                  onClick={() =>
                    approve.mutate(
                      { platform: request.platform, code: request.id },
                      { onError: (error) => toasts.refuse(sentenceOf(error)) },
                    )
                  }
                >
                  {w.letIn}
                </Button>
              )}
            </li>
          ))}
        </ul>
      </Section>
      <Section title={w.people} fact={people.length > 0 ? people.length : undefined}>
        {people.length === 0 && <p className={emptyText}>{w.noPeople}</p>}
        <ul className={rowList}>
          {people.map((person) => (
            <li key={`${person.platform} ${person.userId}`} className={styles.row}>
              <PersonName {...person} />
              <span className="faint">
                {w.since} <When at={person.pairedAt} />
              </span>
              {refusal === undefined && (
                <Button
                  small
                  kind="quiet"
                  aria-label={`${w.revoke} ${plainText(person.userName)}`}
                  onClick={() => setOpen(person)}
                >
                  {w.revoke}
                </Button>
              )}
            </li>
          ))}
        </ul>
      </Section>
      {open === "code" && (
        <CodeDialog
          profile={profile}
          platforms={[...new Set(waiting.map(({ platform }) => platform))]}
          onClose={close}
        />
      )}
      {typeof open === "object" && <RevokeDialog profile={profile} person={open} onClose={close} />}
    </>
  );
}

interface CodeDialogProps {
  readonly profile: string;
  readonly platforms: readonly string[];
  onClose(): void;
}

function CodeDialog({ profile, platforms, onClose }: CodeDialogProps) {
  const approve = useApprove(profile);
  const [platform, setPlatform] = useState(platforms[0] ?? "");
  const [code, setCode] = useState("");
  return (
    <Dialog
      title={w.byCodeTitle}
      onClose={onClose}
      onSubmit={() => {
        if (!approve.isPending && code.trim() !== "")
          approve.mutate({ platform, code }, { onSuccess: onClose });
      }}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {words.shell.cancel}
          </Button>
          <Button kind="main" type="submit" busy={approve.isPending} disabled={code.trim() === ""}>
            {w.letIn}
          </Button>
        </>
      }
    >
      <TextField
        label={w.code}
        hint={w.codeHint}
        problem={approve.error === null ? undefined : sentenceOf(approve.error)}
        autoComplete="off"
        spellCheck={false}
        value={code}
        onChange={(event) => {
          setCode(event.target.value);
          approve.reset();
        }}
      />
      <Select label={w.platform} value={platform} onChange={(event) => setPlatform(event.target.value)}>
        {platforms.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </Select>
    </Dialog>
  );
}

interface RevokeDialogProps {
  readonly profile: string;
  readonly person: PairedPerson;
  onClose(): void;
}

function RevokeDialog({ profile, person, onClose }: RevokeDialogProps) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const { platform, userId } = person;
  const name = plainText(person.userName);
  const revoke = useMutation({
    mutationFn: () =>
      api.send("POST", `${profilePath(profile)}/pairing/${encodeURIComponent(platform)}/revoke`, { userId }),
    onError: (error) => toasts.refuse(sentenceOf(error)),
    onSuccess: () => {
      toasts.say(w.revoked(name));
      return client.invalidateQueries({ queryKey: ["platforms", profile] });
    },
    onSettled: onClose,
  });
  return (
    <ConfirmDialog
      title={w.revokeTitle(name)}
      confirmLabel={w.revokeNow}
      busy={revoke.isPending}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      <p className="soft">{w.revokeText}</p>
    </ConfirmDialog>
  );
}
