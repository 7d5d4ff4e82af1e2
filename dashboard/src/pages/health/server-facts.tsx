import type { HealthAnswer } from "../../../../src/api/contract/health.ts";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { When } from "../../components/text/time.tsx";
import { number, size } from "../../words/format.ts";
import { pageWords } from "../../words/page-words.ts";
import styles from "./server-facts.module.css";

const { server: text, dispatchers: dispatcherText } = pageWords.health;

/** The process that serves these pages, and the dispatchers of the boards. */
export function ServerFacts({ health }: { readonly health: HealthAnswer }) {
  const { server, dispatchers } = health;
  return (
    <div className={styles.facts}>
      <Section title={text.title}>
        <dl className={styles.list}>
          <dt>{text.version}</dt>
          <dd>{server.version}</dd>
          <dt>{text.node}</dt>
          <dd>{server.node}</dd>
          <dt>{text.process}</dt>
          <dd>{server.pid}</dd>
          <dt>{text.started}</dt>
          <dd>
            <When at={server.startedAt} />
          </dd>
          <dt>{text.memory}</dt>
          <dd>{size(server.memoryBytes)}</dd>
          <dt>{text.streams}</dt>
          <dd>{text.streamCount(server.streams)}</dd>
          <dt>{text.topics}</dt>
          <dd>{text.topicCount(server.topics)}</dd>
        </dl>
      </Section>
      <Section title={dispatcherText.title} fact={number(dispatchers.length)}>
        {dispatchers.length === 0 && <p className={emptyText}>{dispatcherText.none}</p>}
        <ul className={rowList}>
          {dispatchers.map(({ board, host, pid, isAlive }) => (
            <li key={`${board} ${host} ${pid}`} className={styles.dispatcher}>
              <span>
                {board} <span className="faint">{dispatcherText.on(host)}</span>
              </span>
              <span className="faint">{isAlive ? dispatcherText.alive : dispatcherText.gone}</span>
            </li>
          ))}
        </ul>
      </Section>
    </div>
  );
}
