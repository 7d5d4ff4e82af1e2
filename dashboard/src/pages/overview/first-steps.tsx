import type { OverviewAnswer } from "../../../../src/api/contract/overview.ts";
import { Icon } from "../../components/controls/icon.tsx";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { words } from "../../words/words.ts";
import styles from "./first-steps.module.css";

const STEPS = ["model", "profile", "task"] as const;

/** The first steps in a new home as commands to copy; each is ticked once it is done. */
export function FirstSteps({ steps }: { readonly steps: OverviewAnswer["steps"] }) {
  const w = words.overview.steps;
  return (
    <ol className={styles.steps}>
      {STEPS.map((name) => (
        <li key={name} className={steps[name] ? styles.done : undefined}>
          <span className={styles.tick}>{steps[name] && <Icon name="check" />}</span>
          <span>
            {w[name].text}
            {steps[name] && <span className="unseen">, {w.done}</span>}
          </span>
          {!steps[name] && <CopyLine text={w[name].command} />}
        </li>
      ))}
    </ol>
  );
}
