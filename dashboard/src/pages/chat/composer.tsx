import { useEffect, useRef } from "react";
import { Button } from "../../components/controls/button.tsx";
import { TextArea } from "../../components/controls/field.tsx";
import { Menu } from "../../components/controls/menu.tsx";
import { COMMAND_KEY, useKeys } from "../../shell/keys/keys.tsx";
import { pageWords } from "../../words/page-words.ts";
import { Choices } from "./choices.tsx";
import styles from "./composer.module.css";
import type { ComposerState } from "./use-composer.ts";

const w = pageWords.chat;
const TWICE_MS = 700;

/** The field for the next message, with the ways to send it and what it is answered with. */
export function Composer({
  composer,
  profile,
}: {
  readonly composer: ComposerState;
  readonly profile: string;
}) {
  const { text, write, problem, running, busy, send, steer, stop, lastMessage, mayWork } = composer;
  const box = useRef<HTMLDivElement>(null);
  const focus = (): void => box.current?.querySelector("textarea")?.focus();
  const isRunning = running !== undefined;
  useEscapeTwice(isRunning, stop);
  useKeys({ r: focus });
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) box.current?.querySelector("textarea")?.focus();
  }, []);
  if (!mayWork) return <p className={styles.readOnly}>{w.readOnly}</p>;
  const isEmpty = text.trim() === "";
  const onSend = (): void => (isEmpty ? focus() : send());
  return (
    <div ref={box} className={styles.composer}>
      <TextArea
        bare
        rows={2}
        label={w.message}
        placeholder={isRunning ? w.whileRunning : w.placeholder}
        value={text}
        problem={problem}
        onChange={(event) => write(event.target.value)}
        onKeyDown={(event) => {
          const isCommand = event.metaKey || event.ctrlKey;
          if (event.key === "Enter" && isCommand && event.shiftKey && isRunning) {
            event.preventDefault();
            steer();
          } else if (event.key === "ArrowUp" && text === "" && lastMessage !== undefined) {
            event.preventDefault();
            write(lastMessage);
          }
        }}
        onSubmitKey={send}
      />
      <div className={styles.row}>
        <Choices composer={composer} profile={profile} />
        <div className={styles.ways}>
          {isRunning && (
            <>
              <Button
                small
                kind="danger"
                busy={busy === "stop" || running.facts.state === "stopping"}
                onClick={stop}
                title="Esc Esc"
              >
                {running.facts.state === "stopping" ? w.stopping : w.stop}
              </Button>
              <Menu
                name={w.more}
                aria-label={w.more}
                kind="quiet"
                small
                icon="more"
                items={[
                  { label: w.queue, keys: `${COMMAND_KEY}↵`, run: onSend },
                  {
                    label: w.steer,
                    keys: `${COMMAND_KEY}⇧↵`,
                    refusal: isEmpty ? w.whileRunning : undefined,
                    run: steer,
                  },
                ]}
              />
            </>
          )}
          <Button small kind="main" busy={busy === "send" || busy === "steer"} onClick={onSend}>
            {isRunning ? w.queue : w.send}
            <span className={styles.key} aria-hidden="true">
              {COMMAND_KEY}↵
            </span>
          </Button>
        </div>
      </div>
    </div>
  );
}

/** Calls `act` when Escape is pressed twice while nothing else is open. */
function useEscapeTwice(isOn: boolean, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (!isOn) return;
    let first = 0;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
      if (document.querySelector("dialog:modal, [popover]:popover-open") !== null) return;
      const now = Date.now();
      if (now - first < TWICE_MS) latest.current();
      first = now;
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [isOn]);
}
