import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { SandboxListAnswer, SandboxRow } from "../../../../src/api/contract/machines/sandboxes.ts";
import { Button } from "../../components/controls/button.tsx";
import { Meter } from "../../components/layout/meter.tsx";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { useMedia } from "../../components/layout/use-media.ts";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { Ago, useNow } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { type LoadPoint, latestLoad, useSandboxLoad } from "../../data/sandbox-load.ts";
import { useKeys } from "../../shell/keys/keys.tsx";
import { moveToRow } from "../../shell/keys/move-to-row.ts";
import { useProfile } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { words } from "../../words/words.ts";
import { GcDialog } from "./gc-dialog.tsx";
import { sandboxesQuery, useSandboxChanges, useShellRefusal } from "./sandbox-queries.ts";
import styles from "./sandboxes.module.css";
import { SnapshotList } from "./snapshot-list.tsx";
import { TerminalList } from "./terminal-list.tsx";

const w = words.sandboxes;

/** The sandboxes of the profile, and the open one beside them. */
export function Sandboxes() {
  const { name } = useParams({ strict: false }) as { name?: string };
  const isWide = useMedia("(min-width: 1000px)");
  const isOpen = name !== undefined;
  const profile = useShownProfile();
  useSandboxChanges(profile);
  return (
    <div className={isOpen ? styles.open : styles.page}>
      {(isWide || !isOpen) && <SandboxTable profile={profile} openName={name} />}
      {isOpen && (
        <div className={styles.reader}>
          <Outlet />
        </div>
      )}
    </div>
  );
}

/** The profile of the open sandbox, else the chosen one. */
export function useShownProfile(): string {
  const chosen = useProfile();
  const { profile = chosen } = useParams({ strict: false }) as { profile?: string };
  return profile;
}

function SandboxTable({
  profile,
  openName,
}: {
  readonly profile: string;
  readonly openName: string | undefined;
}) {
  const list = useQuery(sandboxesQuery(useApi(), profile));
  const [isCleaning, setCleaning] = useState(false);
  const refusal = useShellRefusal();
  const hasContainers = ["docker", "podman"].includes(list.data?.backend ?? "");
  usePageTitle(openName === undefined ? words.shell.pages.sandboxes : undefined);
  useKeys({ j: () => moveToRow(1), k: () => moveToRow(-1) });
  const Title = openName === undefined ? "h1" : "h2"; // an open sandbox has the heading of the page
  return (
    <section className={styles.list} aria-label={words.shell.pages.sandboxes}>
      <header className={styles.head}>
        <Title>{words.shell.pages.sandboxes}</Title>
        <span className={styles.engine}>{list.data?.engine}</span>
        {hasContainers && (
          <Button small disabled={refusal !== undefined} title={refusal} onClick={() => setCleaning(true)}>
            {w.gc.button}
          </Button>
        )}
      </header>
      {list.error !== null && list.data === undefined && (
        <FailureNote error={list.error} retry={() => void list.refetch()} busy={list.isFetching} />
      )}
      {list.data === undefined && list.error === null && <Skeleton />}
      {list.data && <Content list={list.data} openName={openName} />}
      {list.data && openName === undefined && <TerminalList profile={profile} />}
      {hasContainers && openName === undefined && <SnapshotList profile={profile} />}
      {isCleaning && <GcDialog profile={profile} onClose={() => setCleaning(false)} />}
    </section>
  );
}

function Content({
  list: { profile, backend, machine, rows, problem },
  openName,
}: {
  readonly list: SandboxListAnswer;
  readonly openName: string | undefined;
}) {
  const load = useSandboxLoad(
    profile,
    rows.some(({ state }) => state === "running"),
  );
  const now = useNow(2_000);
  if (problem !== null) {
    return (
      <Note bad>
        {problem.message} {problem.hint}
      </Note>
    );
  }
  if (rows.length === 0) return <Nothing backend={backend} machine={machine} />;
  return (
    <ul className={`${styles.rows} ${openName === undefined ? styles.wide : ""}`}>
      {rows.map((row) => (
        <Row
          key={row.id}
          row={row}
          profile={profile}
          isOpen={row.name === openName}
          load={latestLoad(load[row.id], now)}
        />
      ))}
    </ul>
  );
}

interface RowProps {
  readonly row: SandboxRow;
  readonly profile: string;
  readonly isOpen: boolean;
  readonly load: LoadPoint | undefined;
}

function Row({ row, profile, isOpen, load }: RowProps) {
  const { name, task, image, state, isInUse, jobs, usedAt, isDrifted, isOurs, limits } = row;
  const notes = [
    ...(isOurs ? [] : [w.foreign]),
    ...(jobs > 0 ? [w.jobs(jobs)] : []),
    ...(isDrifted ? [w.drifted] : []),
  ];
  return (
    <li>
      <Link
        to="/sandboxes/$profile/$name"
        params={{ profile, name }}
        className={styles.row}
        aria-current={isOpen || undefined}
        data-row-of="sandboxes"
      >
        <span className={styles.name}>
          <span className={`dot ${isInUse ? "dot-on" : isDrifted ? "dot-amber" : "dot-hollow"}`} />
          <b className="clip">{task ?? name}</b>
        </span>
        <span className={styles.state}>{isInUse ? w.inUse : state}</span>
        <span className={styles.used}>{isInUse ? w.now : usedAt !== null && <Ago at={usedAt} />}</span>
        <span className={styles.load}>
          {load && (
            <>
              <LoadMeter name={w.load.cpu} value={load.cpus} limit={limits.cpus} />
              <LoadMeter name={w.load.memory} value={load.memoryBytes} limit={limits.memoryBytes} />
            </>
          )}
        </span>
        <small className={`clip ${styles.image}`}>{[image, ...notes].filter(Boolean).join(" · ")}</small>
      </Link>
    </li>
  );
}

function LoadMeter({
  name,
  value,
  limit,
}: {
  readonly name: string;
  readonly value: number;
  readonly limit: number | null;
}) {
  if (limit === null) return null;
  const share = value / limit;
  return <Meter label={w.load.meter(name, share)} share={share} />;
}

function Nothing({ backend, machine }: Pick<SandboxListAnswer, "backend" | "machine">) {
  const { title, hint, command } =
    backend === "local"
      ? { title: w.local, hint: w.localHint, command: w.localCommand }
      : machine !== null
        ? { title: w.machine(machine), hint: w.machineHint, command: undefined }
        : backend === "singularity"
          ? { title: w.instances, hint: w.instancesHint, command: w.instancesCommand }
          : { title: w.none, hint: w.noneHint, command: undefined };
  return (
    <div className={styles.nothing}>
      <b>{title}</b>
      <p>{hint}</p>
      {command !== undefined && <CopyLine text={command} />}
    </div>
  );
}

function Skeleton() {
  return (
    <div aria-busy="true">
      {[44, 58, 37].map((width) => (
        <div key={width} className={styles.bones}>
          <div className="bone" style={{ width: `${width}%` }} />
          <div className="bone" style={{ width: `${width - 14}%` }} />
        </div>
      ))}
    </div>
  );
}
