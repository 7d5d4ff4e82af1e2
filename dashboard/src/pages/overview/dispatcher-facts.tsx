import type { Dispatcher } from "../../../../src/api/contract/overview.ts";
import { emptyText, Section } from "../../components/layout/section.tsx";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { Ago } from "../../components/text/time.tsx";
import { words } from "../../words/words.ts";
import styles from "./dispatcher-facts.module.css";

interface DispatcherFactsProps {
  readonly dispatchers: readonly Dispatcher[];
  readonly running: number;
  readonly places: number | null;
}

/** The dispatchers and whether they are running. */
export function DispatcherFacts({ dispatchers, running, places }: DispatcherFactsProps) {
  const w = words.overview.dispatcher;
  const hosts = [...new Set(dispatchers.map(({ host }) => host))];
  const alive = dispatchers.filter(({ isAlive }) => isAlive);
  return (
    <Section title={w.title}>
      {alive.length === 0 ? (
        <div className={emptyText}>
          <p className={styles.none}>{w.none}</p>
          <CopyLine text={w.command} />
        </div>
      ) : (
        <dl className={styles.facts}>
          {hosts.map((host) => {
            const own = dispatchers.filter((row) => row.host === host);
            const lastPass = Math.max(...own.map(({ lastPassAt }) => lastPassAt));
            const error = own.find(({ lastError }) => lastError !== null)?.lastError;
            return (
              <div key={host}>
                <dt>{w.host}</dt>
                <dd>
                  <b>{host}</b> · {w.alive(own.filter(({ isAlive }) => isAlive).length, own.length)}
                </dd>
                <dt>{w.board}</dt>
                <dd>{[...new Set(own.map(({ board }) => board))].join(", ")}</dd>
                <dt>{w.lastPass}</dt>
                <dd>
                  <Ago at={lastPass} />
                </dd>
                {error && (
                  <>
                    <dt>{w.error}</dt>
                    <dd className={styles.error}>{error}</dd>
                  </>
                )}
              </div>
            );
          })}
          <div>
            <dt>{w.running}</dt>
            <dd>
              <b>{w.onHost(running, places)}</b>
            </dd>
          </div>
        </dl>
      )}
    </Section>
  );
}
