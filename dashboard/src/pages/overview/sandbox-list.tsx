import type { OverviewAnswer, SandboxRow } from "../../../../src/api/contract/overview.ts";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { useNow } from "../../components/text/time.tsx";
import { span } from "../../words/format.ts";
import { words } from "../../words/words.ts";
import styles from "./sandbox-list.module.css";

const w = words.overview.sandboxes;

/** The sandboxes of the profile, and which are in use. */
export function SandboxList({ rows, problem }: OverviewAnswer["sandboxes"]) {
  const inUse = rows.filter(({ isInUse }) => isInUse).length;
  return (
    <Section title={w.title} fact={inUse > 0 ? w.inUse(inUse) : undefined}>
      {problem !== null && <p className={emptyText}>{problem}</p>}
      <ul className={rowList}>
        {rows.map((row) => (
          <Row key={row.name} {...row} />
        ))}
      </ul>
    </Section>
  );
}

function Row({ name, profile, task, backend, image, state, isInUse, usedAt, isDrifted }: SandboxRow) {
  const now = useNow(60_000);
  const label =
    [profile, task === "default" ? null : task].filter((part) => part !== null).join(" / ") || name;
  return (
    <li className={styles.box} title={name}>
      <div className={`${styles.name} ${isInUse ? "" : styles.idle}`}>
        <span className={`dot ${isInUse ? "dot-on" : isDrifted ? "dot-amber" : "dot-hollow"}`} />
        <span className="clip">{label}</span>
      </div>
      <span className={styles.state}>
        {isInUse ? w.now : state !== "running" || usedAt === null ? state : w.idle(span(now - usedAt))}
      </span>
      <small className="clip">
        {[backend, image, isDrifted ? w.drifted : null].filter((part) => part !== null).join(" · ")}
      </small>
    </li>
  );
}
