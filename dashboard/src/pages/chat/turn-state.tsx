import type { LiveTurn } from "../../../../src/api/contract/chat.ts";
import { plainText } from "../../components/text/plain-text.ts";
import { pageWords } from "../../words/page-words.ts";
import styles from "./turn-state.module.css";

const w = pageWords.chat;

/** What a running turn is doing, and the notes that the model has not read yet. */
export function TurnState({ turn }: { readonly turn: LiveTurn }) {
  const { state, steers, isStored } = turn.facts;
  const text = {
    waiting: w.waiting,
    running: isStored ? w.thinking : w.starting,
    asking: w.asking,
    stopping: w.stopping,
    ended: "",
  }[state];
  return (
    <>
      {steers.map((note) => (
        <p key={note} className={styles.note}>
          <b>{w.noted}</b>
          {plainText(note)}
        </p>
      ))}
      <p className={state === "asking" ? styles.asking : styles.state}>
        <span className={state === "asking" ? "dot dot-amber" : "dot dot-on"} />
        {text}
      </p>
    </>
  );
}
