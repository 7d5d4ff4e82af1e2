import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import type { Need } from "../../../../src/api/contract/overview.ts";
import { Button } from "../../components/controls/button.tsx";
import { Icon, type IconName } from "../../components/controls/icon.tsx";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { Ago } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { ChatLink } from "../../shell/chat-link.tsx";
import { TaskLink } from "../../shell/task-link.tsx";
import { timeOfDay } from "../../words/format.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { AnswerForm } from "./answer-form.tsx";
import styles from "./needs.module.css";
import { type Reply, sendReply } from "./send-reply.ts";

const w = words.overview.needs;

/** What waits for a person, answered in its row. */
export function Needs({ needs }: { readonly needs: readonly Need[] }) {
  const [isHeld, setHeld] = useState(false);
  const rows = useCalm(needs, isHeld);
  return (
    <Section title={w.title} fact={needs.length > 0 ? needs.length : undefined}>
      {rows.length === 0 ? (
        <p className={emptyText}>{w.none}</p>
      ) : (
        <ul className={rowList} onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}>
          {rows.map((need) => (
            <NeedRow key={need.id} need={need} isSettled={!needs.some(({ id }) => id === need.id)} />
          ))}
        </ul>
      )}
    </Section>
  );
}

/** While the pointer is over the rows, none of them moves: removed ones stay, and new ones are added at the end. */
function useCalm(needs: readonly Need[], isHeld: boolean): readonly Need[] {
  const shown = useRef(needs);
  if (isHeld) {
    const kept = shown.current.map((row) => needs.find(({ id }) => id === row.id) ?? row);
    const added = needs.filter(({ id }) => !shown.current.some((row) => row.id === id));
    shown.current = [...kept, ...added];
  } else shown.current = needs;
  return shown.current;
}

const MARKS: Readonly<Record<Need["kind"], { readonly icon: IconName; readonly tone: string | undefined }>> =
  {
    question: { icon: "asks", tone: styles.amber },
    approval: { icon: "asks", tone: styles.amber },
    block: { icon: "pause", tone: styles.amber },
    review: { icon: "review", tone: styles.plum },
    budget: { icon: "failed", tone: styles.amber },
    "no-dispatcher": { icon: "failed", tone: styles.amber },
    finding: { icon: "failed", tone: styles.amber },
    settings: { icon: "failed", tone: styles.red },
    failure: { icon: "failed", tone: styles.red },
  };

function NeedRow({ need, isSettled }: { readonly need: Need; readonly isSettled: boolean }) {
  const [writing, setWriting] = useState<"answer" | "changes">();
  const { send, busy } = useReply(need, () => setWriting(undefined));
  const opener = useRef<HTMLButtonElement>(null);
  const { icon, tone } = MARKS[need.kind];
  const close = (): void => {
    setWriting(undefined);
    opener.current?.focus();
  };
  return (
    <li className={`${styles.ask} enter ${isSettled ? styles.settled : ""}`} data-row-of="needs">
      <span className={`${styles.mark} ${tone ?? ""}`}>
        <Icon name={icon} />
      </span>
      <div className={styles.title}>
        {need.task ? (
          <TaskLink board={need.task.board} id={need.task.id} row>
            {need.title}
          </TaskLink>
        ) : (
          <span data-row tabIndex={-1}>
            {need.title}
          </span>
        )}
        <small>
          <About need={need} />
        </small>
      </div>
      <p className={styles.detail}>
        {need.kind === "no-dispatcher" ? w.undispatched(Number(need.detail)) : need.detail}{" "}
        {need.until !== null && w.retried(timeOfDay(need.until))}
      </p>
      {need.release !== "" && <p className={styles.release}>{release(need.release)}</p>}
      {writing === undefined && (
        <div className={styles.actions}>
          <Actions need={need} busy={busy} opener={opener} onWrite={setWriting} onReply={send} />
        </div>
      )}
      {writing !== undefined && (
        <AnswerForm
          name={`${writing} ${need.id}`}
          label={writing === "answer" ? w.answerLabel(need.title) : w.changesLabel(need.title)}
          hint={w.answerHint(need.who ?? w.worker)}
          choices={writing === "answer" ? (need.approval?.choices ?? []) : []}
          busy={busy}
          onSend={(text, onSent) => send({ kind: writing, text }, { onSuccess: onSent })}
          onClose={close}
        />
      )}
    </li>
  );
}

function About({ need }: { readonly need: Need }) {
  const isAsking = need.kind === "question" || need.kind === "approval";
  const parts: readonly ReactNode[] = [
    need.who !== null && (isAsking ? w.asks(need.who) : need.who),
    need.failures > 1 && w.failed(need.failures),
    <Ago key="since" at={need.since} />,
  ];
  return parts.filter(Boolean).flatMap((part, index) => (index === 0 ? [part] : [" · ", part]));
}

function release(text: string): ReactNode {
  return text.startsWith("hermes ") ? <CopyLine text={text} /> : text;
}

interface ActionsProps {
  readonly need: Need;
  readonly busy: boolean;
  readonly opener: React.Ref<HTMLButtonElement>;
  onWrite(what: "answer" | "changes"): void;
  onReply(reply: Reply): void;
}

function Actions({ need, busy, opener, onWrite, onReply }: ActionsProps) {
  const { approval, task, actions } = need;
  const isQuestion = approval?.kind !== "approval";
  return (
    <>
      {actions.includes("answer") && (
        <Button small kind="main" ref={opener} data-answer busy={busy} onClick={() => onWrite("answer")}>
          {w.answer}
        </Button>
      )}
      {actions.includes("approve") && approval !== null && !isQuestion && (
        <>
          <Button
            small
            kind="main"
            data-answer
            busy={busy}
            onClick={() => onReply({ kind: "approve", scope: "once" })}
          >
            {w.allowOnce}
          </Button>
          {approval.session !== null && (
            <Button
              small
              busy={busy}
              title={approval.session}
              onClick={() => onReply({ kind: "approve", scope: "session" })}
            >
              {w.allowSession}
            </Button>
          )}
          <Button small busy={busy} onClick={() => onReply({ kind: "deny" })}>
            {w.deny}
          </Button>
        </>
      )}
      {actions.includes("review") && (
        <>
          <Button small kind="main" data-answer busy={busy} onClick={() => onReply({ kind: "review" })}>
            {w.approveTask}
          </Button>
          <Button small ref={opener} onClick={() => onWrite("changes")}>
            {w.changes}
          </Button>
        </>
      )}
      {actions.includes("retry") && (
        <Button small data-answer busy={busy} onClick={() => onReply({ kind: "retry" })}>
          {w.retry}
        </Button>
      )}
      {task === null && approval !== null && (
        <ChatLink profile={approval.profile} id={approval.sessionId}>
          {w.open}
        </ChatLink>
      )}
      {task !== null && (
        <TaskLink board={task.board} id={task.id} button>
          {w.open}
        </TaskLink>
      )}
    </>
  );
}

function useReply(need: Need, onSent: () => void) {
  const api = useApi();
  const toasts = useToasts();
  const { mutate, isPending } = useMutation({
    mutationFn: (reply: Reply) => sendReply(api, need, reply),
    onSuccess(_, { kind }) {
      onSent();
      toasts.say(
        kind === "answer" || kind === "changes"
          ? w.sent(need.who ?? w.worker)
          : kind === "retry"
            ? w.willRetry
            : w.decided,
      );
    },
    onError: (error) => toasts.refuse(sentenceOf(error)),
  });
  return { send: mutate, busy: isPending };
}
