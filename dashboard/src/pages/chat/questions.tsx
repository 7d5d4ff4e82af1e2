import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Approval, ApprovalReply, ApprovalsAnswer } from "../../../../src/api/contract/approvals.ts";
import { Button } from "../../components/controls/button.tsx";
import { TextArea } from "../../components/controls/field.tsx";
import { Icon } from "../../components/controls/icon.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { useApi } from "../../data/app-data.tsx";
import { meQuery } from "../../data/queries.ts";
import { useDraft } from "../../data/use-draft.ts";
import { timeOfDay } from "../../words/format.ts";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { approvalsQuery } from "./chat-queries.ts";
import styles from "./questions.module.css";

const w = pageWords.chat.question;

/** The questions of a session, answered in place. */
export function Questions({ questions }: { readonly questions: readonly Approval[] }) {
  return questions.map((question) => <Question key={question.id} question={question} />);
}

type Reply = Omit<Extract<ApprovalReply, { verdict: "approved" }>, "profile">;
type Answer =
  | Reply
  | { readonly verdict: "denied" }
  | { readonly verdict: "answered"; readonly text: string };

function Question({ question }: { readonly question: Approval }) {
  const { kind, tool, summary, whole, reason, endsAt } = question;
  const [isWhole, setWhole] = useState(false);
  const { answer, busy, mayWork, isAdmin } = useAnswer(question);
  const isApproval = kind === "approval";
  return (
    <section className={styles.question} aria-label={isApproval ? w.run(tool) : w.asks}>
      <Icon name="asks" />
      <div className={styles.body}>
        <p className={styles.title}>
          <b>{isApproval ? w.run(tool) : w.asks}</b>
          {endsAt !== null && <small>{w.until(timeOfDay(endsAt))}</small>}
        </p>
        <pre className={isApproval ? styles.command : styles.text}>
          {plainText(isWhole && whole !== null ? whole : summary)}
        </pre>
        {whole !== null && whole !== summary && !isWhole && (
          <Button small kind="quiet" onClick={() => setWhole(true)}>
            {w.whole}
          </Button>
        )}
        {reason !== "" && <p className={styles.reason}>{plainText(reason)}</p>}
        {mayWork && isApproval && (
          <div className={styles.actions}>
            <Button
              small
              kind="main"
              busy={busy}
              onClick={() => answer({ verdict: "approved", scope: "once" })}
            >
              {w.once}
            </Button>
            {question.session !== null && (
              <Button
                small
                busy={busy}
                title={question.session}
                onClick={() => answer({ verdict: "approved", scope: "session" })}
              >
                {w.session}
              </Button>
            )}
            {question.always !== null && (
              <Button
                small
                busy={busy}
                disabled={!isAdmin}
                title={isAdmin ? question.always : w.adminOnly}
                onClick={() => answer({ verdict: "approved", scope: "always" })}
              >
                {w.always}
              </Button>
            )}
            <Button small busy={busy} onClick={() => answer({ verdict: "denied" })}>
              {w.no}
            </Button>
          </div>
        )}
        {mayWork && !isApproval && (
          <Clarification
            question={question}
            busy={busy}
            onAnswer={(text, onSent) => answer({ verdict: "answered", text }, { onSuccess: onSent })}
          />
        )}
      </div>
    </section>
  );
}

function useAnswer({ id, profile }: Approval) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const me = useQuery(meQuery(api)).data;
  const scopes = me?.signedIn === true ? me.scopes : [];
  const { mutate, isPending } = useMutation({
    mutationFn: (answer: Answer) =>
      api.send("POST", `approvals/${encodeURIComponent(id)}`, { ...answer, profile }),
    onError: (error) => toasts.refuse(sentenceOf(error)),
    onSuccess() {
      const { queryKey } = approvalsQuery(api);
      client.setQueryData<ApprovalsAnswer>(
        queryKey,
        (old) => old && { ...old, approvals: old.approvals.filter((other) => other.id !== id) },
      );
    },
  });
  return {
    answer: mutate,
    busy: isPending,
    mayWork: scopes.includes("work"),
    isAdmin: scopes.includes("admin"),
  };
}

interface ClarificationProps {
  readonly question: Approval;
  readonly busy: boolean;
  /** Call `onSent` when the server has accepted it. */
  onAnswer(text: string, onSent: () => void): void;
}

function Clarification({ question, busy, onAnswer }: ClarificationProps) {
  const { id, choices, isSeveral } = question;
  const [text, setText] = useDraft(`answer ${id}`);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const typed = text.trim();
  const send = (): void => {
    if (busy) return;
    if (typed !== "") onAnswer(typed, () => setText(""));
    else if (chosen.length > 0) onAnswer(chosen.join("\n"), () => setText(""));
  };
  const toggle = (choice: string): void =>
    setChosen(chosen.includes(choice) ? chosen.filter((one) => one !== choice) : [...chosen, choice]);
  return (
    <>
      {choices !== null && (
        <div className={styles.actions}>
          {choices.map((choice) => (
            <Button
              key={choice}
              small
              busy={busy}
              aria-pressed={isSeveral ? chosen.includes(choice) : undefined}
              {...(chosen.includes(choice) && { icon: "check" as const })}
              onClick={() => (isSeveral ? toggle(choice) : onAnswer(choice, () => setText("")))}
            >
              {plainText(choice)}
            </Button>
          ))}
        </div>
      )}
      <TextArea
        bare
        rows={1}
        label={w.answer}
        placeholder={choices === null ? w.answer : w.own}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onSubmitKey={send}
      />
      <div className={styles.actions}>
        <Button small kind="main" busy={busy} disabled={typed === "" && chosen.length === 0} onClick={send}>
          {w.answer}
        </Button>
      </div>
    </>
  );
}
