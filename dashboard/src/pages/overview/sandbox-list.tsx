import { Link } from "@tanstack/react-router";
import type { SandboxRow } from "../../../../src/api/contract/machines/sandboxes.ts";
import type { OverviewAnswer } from "../../../../src/api/contract/overview.ts";
import { Meter } from "../../components/layout/meter.tsx";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { useNow } from "../../components/text/time.tsx";
import { type LoadPoint, latestLoad, useSandboxLoad } from "../../data/sandbox-load.ts";
import { span } from "../../words/format.ts";
import { words } from "../../words/words.ts";
import styles from "./sandbox-list.module.css";

const w = words.overview.sandboxes;
const { load: loadWords } = words.sandboxes;

/** The sandboxes of the profile, which are in use, and what the running ones use. */
export function SandboxList({
  profile,
  rows,
  problem,
}: OverviewAnswer["sandboxes"] & { readonly profile: string }) {
  const inUse = rows.filter(({ isInUse }) => isInUse).length;
  const load = useSandboxLoad(
    profile,
    rows.some(({ state }) => state === "running"),
  );
  const now = useNow(2_000);
  return (
    <Section title={w.title} fact={inUse > 0 ? w.inUse(inUse) : undefined}>
      {problem !== null && <p className={emptyText}>{problem}</p>}
      <ul className={rowList}>
        {rows.map((row) => (
          <Row key={row.id} row={row} profile={profile} load={latestLoad(load[row.id], now)} now={now} />
        ))}
      </ul>
    </Section>
  );
}

interface RowProps {
  readonly row: SandboxRow;
  readonly profile: string;
  readonly load: LoadPoint | undefined;
  readonly now: number;
}

function Row({ row, profile: shown, load, now }: RowProps) {
  const { name, profile, task, backend, image, state, isInUse, usedAt, isDrifted, limits } = row;
  const label =
    [profile, task === "default" ? null : task].filter((part) => part !== null).join(" / ") || name;
  return (
    <li className={styles.box} title={name}>
      <Link
        to="/sandboxes/$profile/$name"
        params={{ profile: shown, name }}
        className={`${styles.name} ${isInUse ? "" : styles.idle}`}
      >
        <span className={`dot ${isInUse ? "dot-on" : isDrifted ? "dot-amber" : "dot-hollow"}`} />
        <span className="clip">{label}</span>
      </Link>
      <span className={styles.state}>
        {load !== undefined && limits.cpus !== null && (
          <Share name={loadWords.cpu} share={load.cpus / limits.cpus} />
        )}
        {load !== undefined && limits.memoryBytes !== null && (
          <Share name={loadWords.memory} share={load.memoryBytes / limits.memoryBytes} />
        )}
        {isInUse ? w.now : state !== "running" || usedAt === null ? state : w.idle(span(now - usedAt))}
      </span>
      <small className="clip">
        {[backend, image, isDrifted ? w.drifted : null].filter((part) => part !== null).join(" · ")}
      </small>
    </li>
  );
}

function Share({ name, share }: { readonly name: string; readonly share: number }) {
  return <Meter label={loadWords.meter(name, share)} share={share} />;
}
