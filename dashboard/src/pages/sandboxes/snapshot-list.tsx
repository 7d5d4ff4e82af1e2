import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Snapshot } from "../../../../src/api/contract/machines/sandboxes.ts";
import { Button } from "../../components/controls/button.tsx";
import { FailureNote } from "../../components/layout/note.tsx";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { When } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { size } from "../../words/format.ts";
import { words } from "../../words/words.ts";
import { ForkDialog, RestoreDialog } from "./sandbox-dialogs.tsx";
import { snapshotsQuery, useShellRefusal } from "./sandbox-queries.ts";
import styles from "./snapshot-list.module.css";

const w = words.sandboxes.snapshots;

/** The snapshots of a profile, or only those of one task, newest first. */
export function SnapshotList({ profile, task }: { readonly profile: string; readonly task?: string }) {
  const list = useQuery(snapshotsQuery(useApi(), profile));
  const navigate = useNavigate();
  const refusal = useShellRefusal();
  const [open, setOpen] = useState<{ readonly snapshot: Snapshot; readonly action: "restore" | "fork" }>();
  const close = (): void => setOpen(undefined);
  const shown = (list.data?.snapshots ?? []).filter(
    (snapshot) => task === undefined || snapshot.task === task,
  );
  return (
    <div className={styles.around}>
      <Section title={w.title} fact={shown.length > 0 ? shown.length : undefined}>
        {list.error !== null && (
          <FailureNote error={list.error} retry={() => void list.refetch()} busy={list.isFetching} />
        )}
        {list.data && shown.length === 0 && <p className={emptyText}>{w.none}</p>}
        <ul className={rowList}>
          {shown.toReversed().map((snapshot) => (
            <li key={snapshot.id} className={styles.row}>
              <span className={styles.name}>
                <b className="clip">{snapshot.name ?? snapshot.id}</b>
                <small className="clip">
                  {[
                    ...(task === undefined ? [w.of(snapshot.task)] : []),
                    size(snapshot.sizeBytes),
                    ...(snapshot.isWhole ? [] : [w.missing]),
                    ...(snapshot.usedBy.length > 0 ? [w.usedBy(snapshot.usedBy)] : []),
                  ].join(" · ")}
                </small>
              </span>
              <When at={snapshot.createdAt} className={styles.when} />
              {(["restore", "fork"] as const).map((action) => (
                <Button
                  key={action}
                  small
                  disabled={refusal !== undefined || !snapshot.isWhole}
                  title={refusal}
                  onClick={() => setOpen({ snapshot, action })}
                >
                  {w[action]}
                </Button>
              ))}
            </li>
          ))}
        </ul>
      </Section>
      {open?.action === "restore" && (
        <RestoreDialog profile={profile} snapshot={open.snapshot} onClose={close} />
      )}
      {open?.action === "fork" && (
        <ForkDialog
          profile={profile}
          from={{ snapshot: open.snapshot }}
          onClose={close}
          onDone={({ name }) => void navigate({ to: "/sandboxes/$profile/$name", params: { profile, name } })}
        />
      )}
    </div>
  );
}
