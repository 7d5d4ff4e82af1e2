import type { OverviewAnswer } from "../../../../src/api/contract/overview.ts";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { Section } from "../../components/layout/section.tsx";
import { Ago } from "../../components/text/time.tsx";
import { useKeys } from "../../shell/keys/keys.tsx";
import { moveToRow } from "../../shell/keys/move-to-row.ts";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { words } from "../../words/words.ts";
import { DispatcherFacts } from "./dispatcher-facts.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Lately } from "./lately.tsx";
import { Needs } from "./needs.tsx";
import styles from "./overview.module.css";
import { Running } from "./running.tsx";
import { SandboxList } from "./sandbox-list.tsx";
import { Spending } from "./spending.tsx";
import { useOverview } from "./use-overview.ts";

/** The Overview: what runs, what needs a person, spending and the latest events. */
export function Overview() {
  usePageTitle(words.shell.pages.overview);
  useKeys({ j: () => moveToRow(1), k: () => moveToRow(-1), r: () => clickAnswer() });
  const { data, error, refetch, isFetching } = useOverview();
  if (data === undefined) {
    if (error === null) return <Skeleton />;
    return (
      <div className={styles.lede}>
        <FailureNote error={error} retry={() => void refetch()} busy={isFetching} />
      </div>
    );
  }
  const { profile, facts, needs, running, spending, sandboxes, dispatchers, lately, steps, problems } = data;
  const isFresh = !(steps.model && steps.profile && steps.task);
  return (
    <>
      <Lede {...data} />
      {problems.map(({ part, message, hint }) => (
        <div key={part} className={styles.problem}>
          <Note bad>
            {words.overview.failedPart(part, message)} {hint}
          </Note>
        </div>
      ))}
      <div className={styles.columns}>
        <div className={styles.stack}>
          {isFresh && <FirstSteps steps={steps} />}
          {(needs.length > 0 || !isFresh) && <Needs needs={needs} />}
          {(running.length > 0 || !isFresh) && <Running running={running} places={facts.places} />}
          {(lately.length > 0 || !isFresh) && <Lately events={lately} />}
        </div>
        <div className={styles.stack}>
          <Spending {...spending} cap={facts.capUsd} />
          {(sandboxes.rows.length > 0 || sandboxes.problem !== null) && (
            <SandboxList profile={profile} {...sandboxes} />
          )}
          <DispatcherFacts dispatchers={dispatchers} running={facts.running} places={facts.places} />
        </div>
      </div>
    </>
  );
}

function Lede({ facts }: Pick<OverviewAnswer, "facts">) {
  const { overview } = words;
  return (
    <div className={styles.lede}>
      <h1>
        {overview.sentence(facts).map(({ text, tone }) => (
          <span key={text} className={tone && styles[tone]}>
            {text}
          </span>
        ))}
      </h1>
      <p>
        <span>{overview.spentToday(facts.spentTodayUsd, facts.capUsd)}</span>
        {facts.ready > 0 && <span>{overview.ready(facts.ready)}</span>}
        {facts.dispatchersAlive === 0 ? (
          <span>{overview.noDispatcher}</span>
        ) : (
          facts.lastPassAt !== null && (
            <span>
              {overview.lastPassBefore} <Ago at={facts.lastPassAt} /> {overview.lastPassAfter}
            </span>
          )
        )}
      </p>
    </div>
  );
}

/** The shape of the page before its first answer. */
function Skeleton() {
  const { needs, running, spending, dispatcher } = words.overview;
  const bones = (widths: readonly number[]) =>
    widths.map((width) => (
      <div key={width} className={styles.bones}>
        <div className="bone" style={{ width: `${width}%` }} />
        <div className="bone" style={{ width: `${width + 20}%` }} />
      </div>
    ));
  return (
    <div aria-busy="true">
      <div className={styles.lede}>
        <h1 className="unseen">{words.shell.loading}</h1>
        <div className="bone" style={{ width: "min(560px, 90%)", height: 25, marginBlock: "3px 14px" }} />
        <div className="bone" style={{ width: "min(300px, 60%)" }} />
      </div>
      <div className={styles.columns}>
        <div className={styles.stack}>
          <Section title={needs.title}>{bones([42, 54])}</Section>
          <Section title={running.title}>{bones([47, 38, 52])}</Section>
        </div>
        <div className={styles.stack}>
          <Section title={spending.title}>{bones([42, 54])}</Section>
          <Section title={dispatcher.title}>{bones([42, 54])}</Section>
        </div>
      </div>
    </div>
  );
}

function clickAnswer(): boolean {
  const row =
    document.activeElement?.closest("[data-row-of]") ?? document.querySelector("[data-row-of=needs]");
  const button = row?.querySelector<HTMLElement>("[data-answer]");
  button?.click();
  return button !== null && button !== undefined;
}
