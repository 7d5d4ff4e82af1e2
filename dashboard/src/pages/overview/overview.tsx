import { CopyLine } from "../../parts/copy-line.tsx";
import { usePageTitle } from "../../shell/shell.tsx";
import { words } from "../../words/words.ts";
import styles from "./overview.module.css";

/** What is going on, and what needs a person. */
export function Overview() {
  const { overview } = words;
  usePageTitle(words.shell.pages.overview);
  return (
    <div className={styles.lede}>
      <h1>{overview.begin}</h1>
      <ol className={styles.steps}>
        {overview.steps.map(({ text, command }) => (
          <li key={command}>
            <span>{text}</span>
            <CopyLine text={command} />
          </li>
        ))}
      </ol>
    </div>
  );
}
