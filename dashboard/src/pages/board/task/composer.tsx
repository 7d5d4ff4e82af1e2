import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type { AnsweredTask, ShownTask } from "../../../../../src/api/contract/tasks.ts";
import { Button } from "../../../components/controls/button.tsx";
import { TextArea } from "../../../components/controls/field.tsx";
import { useToasts } from "../../../components/layout/toast.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { COMMAND_KEY, useKeys } from "../../../shell/keys/keys.tsx";
import { sentenceOf } from "../../../words/problem-words.ts";
import { words } from "../../../words/words.ts";
import { useBoard } from "../board-context.tsx";
import { taskPath } from "../board-queries.ts";
import type { Drafts } from "../model/drafts.ts";
import styles from "./composer.module.css";

const { composer: text, commentCount } = words.task;
const DRAFT = "message";

/** The field for a comment to the worker, or for the answer that a blocked task waits for. */
export function Composer({ shown, drafts }: { readonly shown: ShownTask; readonly drafts: Drafts }) {
  const { slug, mayWork, requestMove } = useBoard();
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [message, setMessage] = useState(() => drafts.get(DRAFT) ?? "");
  const [busy, setBusy] = useState<"main" | "comment">();
  const [problem, setProblem] = useState<string>();
  const box = useRef<HTMLDivElement>(null);
  const { task, card, comments } = shown;
  const waits = task.status === "blocked" || (task.status === "triage" && card.notice !== null);
  useKeys({ r: () => box.current?.querySelector("textarea")?.focus() });
  if (!mayWork || task.status === "archived") return null;

  const change = (next: string): void => {
    setMessage(next);
    setProblem(undefined);
    drafts.set(DRAFT, next === "" ? undefined : next);
  };
  async function send(how: "main" | "comment"): Promise<void> {
    const body = message.trim();
    if (body === "" || busy !== undefined) return;
    setBusy(how);
    const path = taskPath(slug, task.id);
    try {
      if (how === "main" && waits) {
        await api.send<AnsweredTask>("POST", `${path}/answer`, { body, unblock: true });
        toasts.say(text.answered);
      } else {
        await api.send("POST", `${path}/comments`, { body });
        toasts.say(text.sent);
      }
      change("");
      await queries.invalidateQueries({ queryKey: ["task", slug, task.id] });
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setBusy(undefined);
    }
  }

  const isRunning = task.status === "running" && card.run !== null;
  const placeholder = waits
    ? text.answer
    : isRunning && card.run?.profile != null
      ? text.tell(card.run.profile)
      : text.comment;
  return (
    <div ref={box} className={styles.say} data-waits={waits || undefined}>
      <TextArea
        bare
        rows={2}
        label={waits ? text.answer : text.label}
        placeholder={placeholder}
        value={message}
        problem={problem}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.currentTarget.closest<HTMLElement>("aside")?.focus();
        }}
        onSubmitKey={() => void send("main")}
      />
      <div className={styles.row}>
        <span className="faint">{comments.length > 0 && commentCount(comments.length)}</span>
        <span className={styles.push} />
        {waits && (
          <Button small busy={busy === "comment"} onClick={() => void send("comment")}>
            {text.commentOnly}
          </Button>
        )}
        {isRunning && (
          <Button small onClick={() => requestMove([task.id], "ready")}>
            {text.stop}
          </Button>
        )}
        <Button
          small
          kind="main"
          busy={busy === "main"}
          onClick={() => {
            if (message.trim() === "") box.current?.querySelector("textarea")?.focus();
            else void send("main");
          }}
        >
          {waits ? text.answerButton : text.send}
          <span className={styles.key} aria-hidden="true">
            {COMMAND_KEY}↵
          </span>
        </Button>
      </div>
    </div>
  );
}
