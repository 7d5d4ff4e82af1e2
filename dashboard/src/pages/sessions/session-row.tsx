import { Link } from "@tanstack/react-router";
import { Children, memo } from "react";
import type { SearchHit, SessionsAnswer } from "../../../../src/api/contract/sessions.ts";
import { plainText } from "../../components/text/plain-text.ts";
import { When } from "../../components/text/time.tsx";
import { money } from "../../words/format.ts";
import { words } from "../../words/words.ts";
import styles from "./session-row.module.css";

const w = words.sessions;

interface SessionRowProps {
  readonly session: SessionsAnswer["sessions"][number];
  readonly isOpen: boolean;
}

/** A session in the list, with the passages that a search found in it. */
export const SessionRow = memo(function SessionRow({ session, isOpen }: SessionRowProps) {
  const { id, profile, title, opening, source, activeAt, costUsd, isRunning, archivedAt, hits } = session;
  const name = plainText(title ?? opening) || w.untitled;
  return (
    <li className={`${styles.row} ${isOpen ? styles.chosen : ""}`} data-row-of="sessions">
      <Link
        to="/sessions/$profile/$id"
        params={{ profile, id }}
        search={(earlier) => ({ ...earlier, turn: hits[0]?.turn })}
        data-row
        className={styles.link}
        aria-current={isOpen ? "true" : undefined}
      >
        <span className={`${styles.name} clip`}>
          {isRunning && <span className="dot dot-on" title={w.running} />}
          <bdi className="clip">{name}</bdi>
        </span>
        <span className={styles.source}>{archivedAt === null ? source : w.archived}</span>
        <When at={activeAt} className={styles.time} />
        <span className={styles.cost}>{costUsd > 0 ? money(costUsd) : ""}</span>
        {hits.length === 0 && title !== null && opening !== "" && (
          <span className={`${styles.opening} clip`}>{plainText(opening)}</span>
        )}
      </Link>
      {hits.slice(0, 3).map((hit) => (
        <Hit key={`${hit.turn} ${hit.at}`} hit={hit} id={id} profile={profile} />
      ))}
    </li>
  );
});

function Hit({
  hit,
  id,
  profile,
}: {
  readonly hit: SearchHit;
  readonly id: string;
  readonly profile: string;
}) {
  const { role, snippet, turn, isUndone } = hit;
  return (
    <Link
      to="/sessions/$profile/$id"
      params={{ profile, id }}
      search={(earlier) => ({ ...earlier, turn })}
      className={styles.hit}
    >
      <span className={styles.role}>{w.roles[role]}</span> {Children.toArray(snippet.map(piece))}
      {isUndone && <span className={styles.role}> · {w.undone}</span>}
    </Link>
  );
}

function piece({ text, isHit }: SearchHit["snippet"][number]) {
  return isHit ? <mark>{plainText(text)}</mark> : plainText(text);
}
