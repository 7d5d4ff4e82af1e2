import { type CSSProperties, memo, useLayoutEffect, useRef, useSyncExternalStore } from "react";
import type { CardReason } from "../../../../../src/api/contract/boards.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Icon } from "../../../components/controls/icon.tsx";
import { Ago, Elapsed, When } from "../../../components/text/time.tsx";
import type { CardView } from "../../../data/board-store.ts";
import { money, when } from "../../../words/format.ts";
import { words } from "../../../words/words.ts";
import { useBoard, useCard, useIsSelected } from "../board-context.tsx";
import { useCardDrag } from "../drag/use-card-drag.ts";
import styles from "./card.module.css";

const { board: text } = words;

interface CardProps {
  readonly id: string;
  /** Its place in the column, for screen readers, because a long column is only partly in the document. */
  readonly place: number;
  readonly of: number;
}

/** One task. A change draws only this card again. */
export const Card = memo(function Card({ id, place, of }: CardProps) {
  const card = useCard(id);
  const { marks, openTask, openId } = useBoard();
  const isSelected = useIsSelected(id);
  const isFocused = useSyncExternalStore(
    (listener) => marks.subscribe(id, listener),
    () => marks.focused() === id,
  );
  const element = useRef<HTMLLIElement>(null);
  const link = useRef<HTMLAnchorElement>(null);
  const drag = useCardDrag(id, element);
  useLayoutEffect(() => {
    const { current } = element;
    const take = (): void => {
      if (marks.consumeFocusRequest(id)) link.current?.focus();
    };
    if (isFocusFree()) take();
    const stop = marks.subscribe(id, take);
    return () => {
      stop();
      // A move to another column replaces the element, and the focus follows the card.
      if (current?.contains(document.activeElement)) marks.focus(id, true);
    };
  }, [marks, id]);
  if (card === undefined) return null;
  const names = [
    styles.card,
    card.status === "running" && styles.live,
    card.status === "done" && styles.done,
    (isSelected || openId === id) && styles.selected,
    card.isPending && styles.pending,
    drag === "dragged" && styles.dragged,
  ];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the title is a link, and the keys of the board act on it
    <li
      ref={element}
      data-card={id}
      className={names.filter(Boolean).join(" ")}
      aria-posinset={place}
      aria-setsize={of}
      onClick={(event) => {
        if (event.defaultPrevented || (event.target as Element).closest("button")) return;
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        marks.focus(id);
        if (event.shiftKey) marks.toggle(id);
        else openTask(id);
      }}
    >
      {card.changes > 0 && <span key={card.changes} className={styles.flash} />}
      <Top card={card} />
      <Title card={card} isFocused={isFocused} link={link} />
      {card.run !== null && <Tail card={card} />}
      {card.notice !== null && card.run === null && <Says {...card.notice} />}
      <End card={card} />
    </li>
  );
});

/** Whether a card that enters the page may take the focus: not if a person has moved it elsewhere. */
function isFocusFree(): boolean {
  const { activeElement } = document;
  return (
    activeElement === null || activeElement === document.body || activeElement.closest("[data-card]") !== null
  );
}

function Top({ card }: { readonly card: CardView }) {
  return (
    <div className={styles.top}>
      <span className={styles.number} title={card.id}>
        {text.number(card.seq)}
      </span>
      <Priority value={card.priority} />
      <span className={styles.push}>
        <Short card={card} />
      </span>
    </div>
  );
}

export function Priority({ value }: { readonly value: number }) {
  if (value === 0) return null;
  const bars = Math.max(0, Math.min(3, value));
  return (
    <span
      className={styles.priority}
      title={text.priority(value)}
      style={{ "--bars": bars } as CSSProperties}
    >
      <i data-on={bars > 0} />
      <i data-on={bars > 1} />
      <i data-on={bars > 2} />
      <span className="unseen">{text.priority(value)}</span>
    </span>
  );
}

/** In two words why it is in its column, or since when. */
function Short({ card }: { readonly card: CardView }) {
  if (card.run !== null) return <Elapsed since={card.run.startedAt} className={styles.elapsed} />;
  // The end of the card already says that it is unassigned.
  const { reason } = card;
  if (reason !== null && reason.kind !== "unassigned" && card.status !== "blocked")
    return <>{reasonText(reason)}</>;
  if (card.status === "done" || card.status === "archived") return <When at={card.since} />;
  return <Ago at={card.since} />;
}

export function reasonText({ kind, task, count, until, guard }: CardReason): string {
  const { reasons, guards } = text;
  switch (kind) {
    case "waits":
      return count === 1 && task !== null ? reasons.waits(task.seq) : reasons.waitsMany(count ?? 0);
    case "scheduled":
      return until === null ? text.status.scheduled : reasons.until(when(until, Date.now()));
    case "guarded":
      return guards[guard ?? ""] ?? reasons.guarded;
    default:
      return reasons[kind];
  }
}

function Title({
  card,
  isFocused,
  link,
}: {
  readonly card: CardView;
  readonly isFocused: boolean;
  readonly link: React.RefObject<HTMLAnchorElement | null>;
}) {
  const { hrefOf, marks, openMenu, mayWork } = useBoard();
  const button = useRef<HTMLButtonElement>(null);
  return (
    <>
      <a
        ref={link}
        href={hrefOf(card.id)}
        className={styles.title}
        draggable={false}
        tabIndex={isFocused ? 0 : -1}
        onFocus={() => marks.focus(card.id)}
      >
        {card.title}
      </a>
      {mayWork && (
        <Button
          ref={button}
          kind="quiet"
          small
          icon="more"
          className={styles.more}
          tabIndex={isFocused ? 0 : -1}
          aria-haspopup="menu"
          aria-label={text.showActions(card.title)}
          onClick={() =>
            button.current && openMenu({ kind: "actions", ids: [card.id], anchor: button.current })
          }
        />
      )}
    </>
  );
}

/** The last call of the run. */
function Tail({ card }: { readonly card: CardView }) {
  const call = card.run?.call ?? null;
  if (call === null) return <div className={styles.tail}>{text.calls.none}</div>;
  const lead = call.tool === "terminal" ? text.calls.terminal : call.tool;
  return (
    <div className={styles.tail} title={call.text}>
      {lead} {call.text}
    </div>
  );
}

function Says({ kind, text: said }: NonNullable<CardView["notice"]>) {
  return (
    <div className={`${styles.says} ${kind === "failure" ? styles.failed : ""}`}>
      <span>{said}</span>
    </div>
  );
}

function End({ card }: { readonly card: CardView }) {
  const { parts } = card;
  return (
    <div className={styles.end}>
      {card.assignee === null ? (
        <span>{text.nobody}</span>
      ) : (
        <span className={styles.who}>
          <span className={styles.face} aria-hidden="true">
            {card.assignee.slice(0, 1)}
          </span>
          <span className="clip">{card.assignee}</span>
        </span>
      )}
      {parts !== null && (
        <span title={text.parts(parts.done, parts.total)}>
          <Icon name="parts" /> {parts.done}/{parts.total}
          <span className="unseen">{text.parts(parts.done, parts.total)}</span>
        </span>
      )}
      {card.comments > 0 && (
        <span title={text.comments(card.comments)}>
          <Icon name="comment" /> {card.comments}
        </span>
      )}
      {card.files > 0 && (
        <span title={text.files(card.files)}>
          <Icon name="file" /> {card.files}
        </span>
      )}
      <span className={styles.push}>{card.costUsd > 0 && money(card.costUsd)}</span>
    </div>
  );
}
