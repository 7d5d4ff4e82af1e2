import { type RefObject, useEffect, useRef, useState } from "react";
import type { LogLevelName } from "../../../../src/api/contract/logs.ts";
import { Button } from "../../components/controls/button.tsx";
import { Icon } from "../../components/controls/icon.tsx";
import { pageWords } from "../../words/page-words.ts";
import styles from "./log-filters.module.css";
import { LEVELS, type LogPeriod, type LogSearch } from "./log-search.ts";

const { logs: text } = pageWords;
const REST_MS = 250;

interface LogFiltersProps {
  readonly search: LogSearch;
  /** The components to choose from. */
  readonly components: readonly string[];
  readonly inputRef: RefObject<HTMLInputElement | null>;
  onChange(change: Partial<LogSearch>): void;
}

/** The filters above the log. */
export function LogFilters({ search, components, inputRef, onChange }: LogFiltersProps) {
  const [typed, setTyped] = useTyped(search.q ?? "", (q) => onChange({ q: q === "" ? undefined : q }));
  return (
    <search className={styles.filters}>
      <select
        aria-label={text.file}
        className={search.file ? styles.on : undefined}
        value={search.file ?? "agent"}
        onChange={({ target }) => onChange({ file: target.value === "errors" ? "errors" : undefined })}
      >
        <option value="agent">{text.files.agent}</option>
        <option value="errors">{text.files.errors}</option>
      </select>
      <select
        aria-label={text.level}
        className={search.level ? styles.on : undefined}
        value={search.level ?? ""}
        onChange={({ target }) =>
          onChange({ level: (target.value || undefined) as LogLevelName | undefined })
        }
      >
        <option value="">{text.anyLevel}</option>
        {LEVELS.slice(1).map((level) => (
          <option key={level} value={level}>
            {text.atLeast[level]}
          </option>
        ))}
      </select>
      <select
        aria-label={text.component}
        className={search.component ? styles.on : undefined}
        value={search.component ?? ""}
        onChange={({ target }) => onChange({ component: target.value || undefined })}
      >
        <option value="">{text.anyComponent}</option>
        {components.map((component) => (
          <option key={component}>{component}</option>
        ))}
      </select>
      <select
        aria-label={text.since}
        className={search.since ? styles.on : undefined}
        value={search.since ?? ""}
        onChange={({ target }) => onChange({ since: (target.value || undefined) as LogPeriod | undefined })}
      >
        <option value="">{text.anyTime}</option>
        <option value="hour">{text.times.hour}</option>
        <option value="day">{text.times.day}</option>
        <option value="week">{text.times.week}</option>
      </select>
      {search.session !== undefined && (
        <Button
          small
          icon="close"
          title={text.clearSession}
          className={styles.on}
          onClick={() => onChange({ session: undefined })}
        >
          {text.session(search.session.slice(0, 8))}
        </Button>
      )}
      <label className={styles.field}>
        <Icon name="search" />
        <span className="unseen">{text.search}</span>
        <input
          ref={inputRef}
          type="search"
          placeholder={text.search}
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            if (typed === "") event.currentTarget.blur();
            else setTyped("");
          }}
        />
      </label>
    </search>
  );
}

/** The typed text is used after a pause in typing; a changed address replaces it. */
function useTyped(q: string, onRest: (q: string) => void): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState(q);
  const used = useRef(q);
  const rest = useRef(onRest);
  useEffect(() => {
    rest.current = onRest;
  });
  useEffect(() => {
    if (q === used.current) return;
    used.current = q;
    setTyped(q);
  }, [q]);
  useEffect(() => {
    const next = typed.trim();
    if (next === used.current) return;
    const timer = setTimeout(() => {
      used.current = next;
      rest.current(next);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return [typed, setTyped];
}
