import { Link } from "@tanstack/react-router";
import type { LogLine } from "../../../../src/api/contract/logs.ts";
import { Button } from "../../components/controls/button.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { exactTime } from "../../words/format.ts";
import { pageWords } from "../../words/page-words.ts";
import { words } from "../../words/words.ts";
import styles from "./log-details.module.css";
import type { LogSearch } from "./log-search.ts";

const { logs: text } = pageWords;
const { shell } = words;

interface LogDetailsProps {
  readonly line: LogLine;
  readonly profile: string;
  onChange(change: Partial<LogSearch>): void;
  onClose(): void;
}

/** All of one line. */
export function LogDetails({ line, profile, onChange, onClose }: LogDetailsProps) {
  const { at, level, component, session } = line;
  const content = [line.text, line.details].filter((part) => part !== "").join("\n");
  return (
    <section className={styles.details} aria-label={text.details}>
      <header>
        <span>
          {[at === null ? "" : exactTime(at), level === null ? "" : text.levels[level], plainText(component)]
            .filter((part) => part !== "")
            .join(" · ")}
        </span>
        <Button small kind="quiet" icon="close" aria-label={text.close} onClick={onClose} />
      </header>
      <pre>{plainText(content)}</pre>
      <footer>
        <Button small icon="copy" onClick={() => void navigator.clipboard?.writeText(content)}>
          {shell.copy}
        </Button>
        {component !== "" && (
          <Button small icon="filter" onClick={() => onChange({ component })}>
            {text.onlyComponent(plainText(component))}
          </Button>
        )}
        {session !== null && (
          <>
            <Button small icon="filter" onClick={() => onChange({ session })}>
              {text.onlySession}
            </Button>
            <Link to="/sessions/$profile/$id" params={{ profile, id: session }} className={styles.link}>
              {text.openSession}
            </Link>
          </>
        )}
      </footer>
    </section>
  );
}
