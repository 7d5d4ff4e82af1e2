import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Finding, HealthAnswer } from "../../../../src/api/contract/health.ts";
import { Button } from "../../components/controls/button.tsx";
import { Tabs } from "../../components/controls/tabs.tsx";
import { FailureNote } from "../../components/layout/note.tsx";
import { useApi } from "../../data/app-data.tsx";
import { useProfile } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { pageWords } from "../../words/page-words.ts";
import { words } from "../../words/words.ts";
import { Audit } from "./audit.tsx";
import { Findings } from "./findings.tsx";
import styles from "./health-page.module.css";
import { ServerFacts } from "./server-facts.tsx";

const { health: text } = pageWords;
const { shell } = words;

/** What `hermes doctor` finds, the state of the server, and the audit. */
export function HealthPage() {
  usePageTitle(shell.pages.health);
  const navigate = useNavigate();
  const { tab = "checks" } = useSearch({ strict: false }) as { tab?: "audit" };
  return (
    <div className={styles.page}>
      <h1 className={styles.title}>{shell.pages.health}</h1>
      <Tabs
        label={text.tabs.label}
        tabs={[
          { name: "checks", label: text.tabs.checks },
          { name: "audit", label: text.tabs.audit },
        ]}
        chosen={tab}
        onChoose={(name) =>
          void navigate({
            to: "/health",
            replace: true,
            search: (earlier) => ({ ...earlier, tab: name === "audit" ? name : undefined }),
          })
        }
        className={styles.panel}
      >
        {tab === "audit" ? <Audit /> : <Checks />}
      </Tabs>
    </div>
  );
}

function Checks() {
  const api = useApi();
  const profile = useProfile();
  const health = useQuery({
    queryKey: ["health", profile],
    queryFn: ({ signal }) => api.get<HealthAnswer>(`health?profile=${encodeURIComponent(profile)}`, signal),
    refetchOnMount: "always",
  });
  if (health.data === undefined) {
    if (health.error !== null)
      return (
        <FailureNote error={health.error} retry={() => void health.refetch()} busy={health.isFetching} />
      );
    return <Skeleton />;
  }
  const { findings } = health.data;
  return (
    <>
      <div className={styles.head}>
        <p className={styles.summary} role="status">
          {text.summary(countOf(findings, "fail"), countOf(findings, "warn"))}
        </p>
        <Button small busy={health.isFetching} onClick={() => void health.refetch()}>
          {health.isFetching ? text.checking : text.again}
        </Button>
      </div>
      {health.error !== null && <FailureNote error={health.error} retry={() => void health.refetch()} />}
      <div className={styles.columns}>
        <Findings findings={findings} />
        <ServerFacts health={health.data} />
      </div>
    </>
  );
}

const countOf = (findings: readonly Finding[], wanted: Finding["status"]): number =>
  findings.filter(({ status }) => status === wanted).length;

function Skeleton() {
  return (
    <div className={styles.bones} aria-busy="true">
      {[30, 62, 54, 70, 47, 66].map((width) => (
        <div key={width} className="bone" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
