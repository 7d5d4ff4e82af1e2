import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { SandboxJob, ShownSandbox } from "../../../../src/api/contract/machines/sandboxes.ts";
import { Button } from "../../components/controls/button.tsx";
import { Icon } from "../../components/controls/icon.tsx";
import { Menu } from "../../components/controls/menu.tsx";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { Section } from "../../components/layout/section.tsx";
import { useNow } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { latestLoad, useSandboxLoad } from "../../data/sandbox-load.ts";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { useOpenTerminal } from "../../terminal/use-terminals.ts";
import { exactTime } from "../../words/format.ts";
import { words } from "../../words/words.ts";
import { JobList } from "./job-list.tsx";
import { EndDialog, ForkDialog, KillDialog, SnapshotDialog, StartJobDialog } from "./sandbox-dialogs.tsx";
import { sandboxQuery, useShellRefusal } from "./sandbox-queries.ts";
import styles from "./sandbox-view.module.css";
import { SnapshotList } from "./snapshot-list.tsx";
import { SparkLine } from "./spark-line.tsx";

const w = words.sandboxes;

/** One sandbox: its load, isolation, drift, jobs and snapshots, and what can be done with it. */
export function SandboxView() {
  const { profile, name } = useParams({ from: "/sandboxes/$profile/$name" });
  const shown = useQuery(sandboxQuery(useApi(), profile, name));
  usePageTitle(name);
  if (shown.data === undefined) {
    return shown.error === null ? (
      <Skeleton />
    ) : (
      <div className={styles.view}>
        <Back />
        <FailureNote error={shown.error} retry={() => void shown.refetch()} busy={shown.isFetching} />
      </div>
    );
  }
  return (
    <article className={styles.view}>
      <Back />
      {/* Not by the container: a restore replaces it, and an open dialog must survive that. */}
      <Content key={`${profile}/${name}`} profile={profile} sandbox={shown.data} />
    </article>
  );
}

type Open = "stop" | "remove" | "replace" | "fork" | "snapshot" | "start-job" | { readonly kill: SandboxJob };

function Content({ profile, sandbox }: { readonly profile: string; readonly sandbox: ShownSandbox }) {
  const [open, setOpen] = useState<Open>();
  const navigate = useNavigate();
  const terminal = useOpenTerminal();
  const close = (): void => setOpen(undefined);
  const { name, task, isOurs, state, drift, isolation, jobList, jobProblem } = sandbox;
  const dialog = { profile, name, onClose: close };
  return (
    <>
      <Head profile={profile} sandbox={sandbox} onOpen={setOpen} />
      {!isOurs && <Note icon="lost">{w.foreignHint}</Note>}
      <Load key={sandbox.id} profile={profile} sandbox={sandbox} />
      {drift.length > 0 && <Drift sandbox={sandbox} onReplace={() => setOpen("replace")} />}
      {isOurs && (
        <JobList
          jobs={jobList}
          problem={jobProblem}
          canStart={state === "running"}
          onAttach={(job) => task !== null && terminal.mutate({ kind: "job", profile, task, job: job.id })}
          onStart={() => setOpen("start-job")}
          onKill={(kill) => setOpen({ kill })}
        />
      )}
      {isOurs && task !== null && <SnapshotList profile={profile} task={task} />}
      <div className={styles.section}>
        <Section title={w.isolation.title}>
          {!isolation.isSeenFromInside && <p className={styles.soft}>{w.isolation.notSeen}</p>}
          <ul className={styles.facts}>
            {isolation.lines.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </Section>
      </div>
      {(open === "stop" || open === "remove" || open === "replace") && (
        <EndDialog
          profile={profile}
          sandbox={sandbox}
          action={open}
          onClose={close}
          onDone={() => open === "remove" && void navigate({ to: "/sandboxes" })}
        />
      )}
      {open === "fork" && (
        <ForkDialog
          profile={profile}
          from={{ sandbox: name }}
          onClose={close}
          onDone={(forked) =>
            void navigate({ to: "/sandboxes/$profile/$name", params: { profile, name: forked.name } })
          }
        />
      )}
      {open === "snapshot" && <SnapshotDialog {...dialog} />}
      {open === "start-job" && <StartJobDialog {...dialog} />}
      {typeof open === "object" && <KillDialog {...dialog} job={open.kill} />}
    </>
  );
}

interface HeadProps {
  readonly profile: string;
  readonly sandbox: ShownSandbox;
  onOpen(open: Open): void;
}

function Head({ profile: shownProfile, sandbox, onOpen }: HeadProps) {
  const { name, task, profile, image, state, isInUse, isOurs, origin, keptUntil, backend } = sandbox;
  const refusal = useShellRefusal();
  const terminal = useOpenTerminal();
  const off = { disabled: refusal !== undefined, title: refusal };
  const label = [profile, task].filter((part) => part !== null).join(" / ") || name;
  const facts = [
    isInUse ? w.inUse : state,
    backend,
    image,
    name,
    ...(origin === null ? [] : [w.createdFrom(origin)]),
    ...(keptUntil === null ? [] : [w.keptUntil(exactTime(keptUntil))]),
  ];
  return (
    <header className={styles.head}>
      <div className={styles.line}>
        <h1>
          <bdi>{label}</bdi>
        </h1>
        {isOurs && (
          <div className={styles.actions}>
            {task !== null && (
              <Button
                small
                {...off}
                busy={terminal.isPending}
                onClick={() => terminal.mutate({ kind: "sandbox", profile: shownProfile, task })}
              >
                {w.actions.terminal}
              </Button>
            )}
            {state === "running" && (
              <Button small {...off} onClick={() => onOpen("stop")}>
                {w.actions.stop}
              </Button>
            )}
            <Button small {...off} onClick={() => onOpen("fork")}>
              {w.actions.fork}
            </Button>
            <Menu
              name={w.actions.more}
              aria-label={w.actions.more}
              kind="quiet"
              small
              icon="more"
              items={[
                { label: w.snapshots.take, refusal, run: () => onOpen("snapshot") },
                { label: w.jobList.start, refusal, run: () => onOpen("start-job") },
                "line",
                { label: w.actions.remove, danger: true, refusal, run: () => onOpen("remove") },
              ]}
            />
          </div>
        )}
      </div>
      <p className={styles.factLine}>
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </p>
    </header>
  );
}

function Load({ profile, sandbox }: { readonly profile: string; readonly sandbox: ShownSandbox }) {
  const isRunning = sandbox.state === "running";
  const points = useSandboxLoad(profile, isRunning)[sandbox.id] ?? [];
  const now = useNow(1_000);
  const last = latestLoad(points, now);
  if (!isRunning) return null;
  const { cpus, memoryBytes, processes } = sandbox.limits;
  const say = (text: string): string => (last === undefined ? w.load.waiting : text);
  const line = { points, now };
  return (
    <section className={styles.load} aria-label={w.load.label}>
      <SparkLine
        {...line}
        name={w.load.cpu}
        limit={cpus}
        read={(point) => point.cpus}
        value={say(w.load.cpus(last?.cpus ?? 0, cpus))}
      />
      <SparkLine
        {...line}
        name={w.load.memory}
        limit={memoryBytes}
        read={(point) => point.memoryBytes}
        value={say(w.load.bytes(last?.memoryBytes ?? 0, memoryBytes))}
      />
      <SparkLine
        {...line}
        name={w.load.processes}
        limit={processes}
        read={(point) => point.processes}
        value={say(w.load.many(last?.processes ?? 0, processes))}
      />
    </section>
  );
}

function Drift({ sandbox, onReplace }: { readonly sandbox: ShownSandbox; onReplace(): void }) {
  const refusal = useShellRefusal();
  const replace = (
    <Button small disabled={refusal !== undefined} title={refusal} onClick={onReplace}>
      {w.drift.replace}
    </Button>
  );
  return (
    <div className={styles.section}>
      <Section title={w.drift.title} end={replace}>
        <p className={styles.soft}>{w.drift.text}</p>
        <table className={styles.drift}>
          <thead>
            <tr>
              <td />
              <th scope="col">{w.drift.had}</th>
              <th scope="col">{w.drift.wants}</th>
            </tr>
          </thead>
          <tbody>
            {sandbox.drift.map(({ field, had, wants }) => (
              <tr key={field}>
                <th scope="row">{field}</th>
                <td>{had}</td>
                <td>{wants}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
    </div>
  );
}

function Back() {
  return (
    <Link to="/sandboxes" className={styles.back}>
      <Icon name="back" /> {w.all}
    </Link>
  );
}

function Skeleton() {
  return (
    <div aria-busy="true" className={styles.view}>
      <h1 className="unseen">{words.shell.loading}</h1>
      <div className="bone" style={{ width: "38%", height: 18, marginBlock: "20px 12px" }} />
      <div className="bone" style={{ width: "64%" }} />
    </div>
  );
}
