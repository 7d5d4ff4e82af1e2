import { useMutation, useQuery } from "@tanstack/react-query";
import type { QueueChange, SessionChat } from "../../../../src/api/contract/chat.ts";
import { Button } from "../../components/controls/button.tsx";
import { Note } from "../../components/layout/note.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { useApi } from "../../data/app-data.tsx";
import { meQuery } from "../../data/queries.ts";
import { sessionPath } from "../../transcript/session-queries.ts";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import styles from "./queue.module.css";

const w = pageWords.chat;

interface QueueProps {
  readonly chat: SessionChat;
  readonly profile: string;
  readonly session: string;
  /** Called with the text of a message that was taken back. */
  onEdit(text: string): void;
}

/** The messages that are sent after the running turn. */
export function Queue({ chat, profile, session, onEdit }: QueueProps) {
  const api = useApi();
  const toasts = useToasts();
  const me = useQuery(meQuery(api)).data;
  const change = useMutation({
    mutationFn: (wanted: QueueChange) => api.send("POST", `${sessionPath(profile, session)}/queue`, wanted),
    onError: (error) => toasts.refuse(sentenceOf(error)),
  });
  const { queue, isHeld, problem } = chat;
  const mayWork = me?.signedIn === true && me.scopes.includes("work");
  if (queue.length === 0) return null;
  return (
    <section className={styles.queue} aria-label={w.queued}>
      {isHeld ? (
        <Note
          icon="pause"
          actions={
            mayWork && (
              <Button small busy={change.isPending} onClick={() => change.mutate({ change: "send" })}>
                {w.sendQueue}
              </Button>
            )
          }
        >
          {problem ?? w.held}
        </Note>
      ) : (
        <p className={styles.label}>{w.queued}</p>
      )}
      <ol>
        {queue.map(({ id, text }) => (
          <li key={id}>
            <span>{plainText(text)}</span>
            {mayWork && (
              <>
                <Button
                  small
                  kind="quiet"
                  onClick={() => change.mutate({ change: "remove", id }, { onSuccess: () => onEdit(text) })}
                >
                  {w.takeBack}
                </Button>
                <Button
                  small
                  kind="quiet"
                  icon="close"
                  aria-label={w.discard}
                  onClick={() => change.mutate({ change: "remove", id })}
                />
              </>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
