import type { RefObject } from "react";
import { Icon } from "../../components/controls/icon.tsx";
import type { SessionFilter } from "../../transcript/session-filter.ts";
import { words } from "../../words/words.ts";
import styles from "./session-search.module.css";

const w = words.sessions;

interface SessionSearchProps {
  readonly inputRef: RefObject<HTMLInputElement | null>;
  readonly typed: string;
  readonly filter: SessionFilter;
  readonly sources: readonly string[];
  onType(text: string): void;
  onChange(change: Partial<SessionFilter>): void;
}

/** The search field and the filters of the list. */
export function SessionSearch({ inputRef, typed, filter, sources, onType, onChange }: SessionSearchProps) {
  return (
    <search className={styles.search}>
      <label className={styles.field}>
        <Icon name="search" />
        <span className="unseen">{w.search}</span>
        <input
          ref={inputRef}
          type="search"
          placeholder={w.search}
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onType(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape" && typed !== "") onType("");
            else if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        <span aria-hidden="true" className={styles.key}>
          <kbd>/</kbd>
        </span>
      </label>
      <div className={styles.filters}>
        <select
          aria-label={w.source}
          className={filter.source ? styles.on : undefined}
          value={filter.source ?? ""}
          onChange={(event) => onChange({ source: event.target.value || undefined })}
        >
          <option value="">{w.allSources}</option>
          {sources.map((source) => (
            <option key={source}>{source}</option>
          ))}
        </select>
        <select
          aria-label={w.since}
          className={filter.since ? styles.on : undefined}
          value={filter.since ?? ""}
          onChange={(event) =>
            onChange({ since: (event.target.value || undefined) as SessionFilter["since"] })
          }
        >
          <option value="">{w.anyTime}</option>
          <option value="day">{w.times.day}</option>
          <option value="week">{w.times.week}</option>
          <option value="month">{w.times.month}</option>
        </select>
        {filter.q && (
          <select
            aria-label={w.order}
            value={filter.order ?? "best"}
            onChange={({ target }) => onChange({ order: target.value === "newest" ? "newest" : undefined })}
          >
            <option value="best">{w.best}</option>
            <option value="newest">{w.newest}</option>
          </select>
        )}
      </div>
    </search>
  );
}
