import type { Finding } from "../../../../src/api/contract/health.ts";
import { Icon, type IconName } from "../../components/controls/icon.tsx";
import { rowList, Section } from "../../components/layout/section.tsx";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { pageWords } from "../../words/page-words.ts";
import styles from "./findings.module.css";

const { health: text } = pageWords;

const ICONS: Readonly<Record<Finding["status"], IconName>> = {
  ok: "done",
  note: "asks",
  warn: "failed",
  fail: "failed",
};

/** The findings: first those with something to do, each with its next step. */
export function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  const todo = findings.filter(({ status }) => status === "fail" || status === "warn");
  const fine = findings.filter((finding) => !todo.includes(finding));
  const worstFirst = todo.toSorted((one, other) => one.status.localeCompare(other.status)); // "fail" before "warn"
  return (
    <div className={styles.findings}>
      {worstFirst.length > 0 && <List title={text.todo} findings={worstFirst} />}
      {fine.length > 0 && <List title={text.fine} findings={fine} />}
    </div>
  );
}

function List({ title, findings }: { readonly title: string; readonly findings: readonly Finding[] }) {
  return (
    <Section title={title} fact={findings.length}>
      <ul className={rowList}>
        {findings.map(({ name, status, detail, fix }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a check may have several findings with one text
          <li key={index} className={styles.row} data-status={status}>
            <Icon name={ICONS[status]} />
            <div>
              <b>{plainText(name)}</b> <span className={styles.status}>{text.statuses[status]}</span>
              <p>{plainText(detail)}</p>
              {fix !== "" && <Fix text={plainText(fix)} />}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The next step. What stands in backquotes, or is a command as a whole, can be copied. */
function Fix({ text: fix }: { readonly text: string }) {
  const commands = [...fix.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
  if (commands.length === 0 && /^(hermes|chmod|docker|podman|sudo) /.test(fix))
    return <CopyLine text={fix} />;
  return (
    <>
      <p className={styles.fix}>{fix.replaceAll("`", "")}</p>
      {commands.map((command) => (
        <CopyLine key={command} text={command} />
      ))}
    </>
  );
}
