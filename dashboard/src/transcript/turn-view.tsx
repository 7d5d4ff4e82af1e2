import { memo } from "react";
import type { Call, Entry, Turn } from "../../../src/api/contract/sessions.ts";
import { Markdown } from "../components/text/markdown.tsx";
import { plainText } from "../components/text/plain-text.ts";
import { When } from "../components/text/time.tsx";
import { words } from "../words/words.ts";
import { CallFold } from "./call-fold.tsx";
import styles from "./turn-view.module.css";

const w = words.sessions.turns;

interface TurnViewProps {
  readonly turn: Turn;
  /** The path of the session below `api/`. */
  readonly path: string;
  /** Whether the turn is running, and whether its process is alive. */
  readonly isOpen: "alive" | "dead" | undefined;
  /** A search found this turn. */
  readonly isMarked: boolean;
  /** What happened between its messages; `after`: the number of messages before it. */
  readonly remarks?: readonly Remark[];
}

export interface Remark {
  readonly after: number;
  readonly text: string;
}

type Step = Extract<Entry, { type: "assistant" }>;
type Piece =
  | Extract<Entry, { type: "user" }>
  | { readonly type: "steps"; readonly key: number; readonly steps: Step[] }
  | { readonly type: "remark"; readonly key: string; readonly text: string };

/** One message of a person and everything up to the answer. */
export const TurnView = memo(function TurnView({
  turn,
  path,
  isOpen,
  isMarked,
  remarks = NO_REMARKS,
}: TurnViewProps) {
  const { id, entries, isUndone, isCompacted, outcome, reason } = turn;
  const note = outcome === null ? undefined : w.outcomes[outcome];
  const names = [styles.turn, isUndone && styles.undone, isMarked && styles.marked];
  return (
    <section id={`turn-${id}`} className={names.filter(Boolean).join(" ")}>
      {isUndone && <p className={styles.remark}>{w.undone}</p>}
      {isCompacted && <p className={styles.remark}>{w.compacted}</p>}
      {gather(entries, remarks).map((piece) =>
        piece.type === "user" ? (
          <Said key={piece.key} entry={piece} />
        ) : piece.type === "remark" ? (
          <p key={piece.key} className={styles.remark}>
            {plainText(piece.text)}
          </p>
        ) : (
          <Done key={piece.key} steps={piece.steps} path={path} />
        ),
      )}
      {note !== undefined && (
        <p className={styles.end}>
          {note} {reason !== null && plainText(reason)}
        </p>
      )}
      {isOpen === "alive" && (
        <p className={styles.running}>
          <span className="dot dot-on" /> {w.open}
        </p>
      )}
      {isOpen === "dead" && <p className={styles.end}>{w.dead}</p>}
    </section>
  );
});

const NO_REMARKS: readonly Remark[] = [];

/** Groups consecutive steps, until the next message of a person or the next remark. */
function gather(entries: readonly Entry[], remarks: readonly Remark[]): readonly Piece[] {
  const pieces: Piece[] = [];
  const addRemarks = (after: number): void => {
    for (const [index, remark] of remarks.entries())
      if (remark.after === after) pieces.push({ type: "remark", key: `remark ${index}`, text: remark.text });
  };
  for (const [index, entry] of entries.entries()) {
    addRemarks(index);
    const last = pieces.at(-1);
    if (entry.type === "user") pieces.push(entry);
    else if (last?.type === "steps") last.steps.push(entry);
    else pieces.push({ type: "steps", key: entry.key, steps: [entry] });
  }
  addRemarks(entries.length);
  return pieces;
}

function Said({ entry }: { readonly entry: Extract<Entry, { type: "user" }> }) {
  const { text, at, images, isSteer } = entry;
  return (
    <div className={styles.said}>
      <div className={styles.who}>
        {w.you}
        {isSteer && <span> · {w.steer}</span>}
        {images > 0 && <span> · {w.images(images)}</span>}
        <When at={at} className={styles.time} />
      </div>
      <div className={styles.words}>{plainText(text)}</div>
    </div>
  );
}

/** The text of the model, with the calls in between folded to one line each. */
function Done({ steps, path }: { readonly steps: readonly Step[]; readonly path: string }) {
  const parts: (Step | { readonly key: number; readonly calls: readonly Call[] })[] = [];
  let calls: Call[] = [];
  let callsKey = 0;
  const closeCalls = (): void => {
    if (calls.length > 0) parts.push({ key: callsKey, calls });
    calls = [];
  };
  for (const step of steps) {
    if (step.text.trim() !== "" || step.reasoning.trim() !== "") {
      closeCalls();
      parts.push(step);
    }
    if (calls.length === 0) callsKey = step.key;
    calls.push(...step.calls);
  }
  closeCalls();
  return (
    <div className={styles.done}>
      {parts.map((part) =>
        "type" in part ? (
          <div key={`${part.key} text`} className={styles.text}>
            {part.reasoning.trim() !== "" && (
              <details className={styles.thoughts}>
                <summary>{w.thoughts}</summary>
                <div>{plainText(part.reasoning)}</div>
              </details>
            )}
            {part.text.trim() !== "" && <Markdown text={part.text} />}
          </div>
        ) : (
          <CallFold key={`${part.key} calls`} calls={part.calls} path={path} />
        ),
      )}
    </div>
  );
}
