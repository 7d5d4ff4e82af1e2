import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReclaimAnswer } from "../../../../src/api/contract/machines/sandboxes.ts";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { useToasts } from "../../components/layout/toast.tsx";
import { useApi } from "../../data/app-data.tsx";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import styles from "./sandbox-dialogs.module.css";
import { Confirm } from "./sandbox-dialogs.tsx";
import { gcPath } from "./sandbox-queries.ts";

const w = words.sandboxes.gc;

/** Shows what the settings say about unused sandboxes, and does exactly that when the person agrees. */
export function GcDialog({ profile, onClose }: { readonly profile: string; onClose(): void }) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const plan = useQuery({
    queryKey: ["sandbox gc", profile],
    queryFn: () => api.send<ReclaimAnswer>("POST", gcPath(profile), { dryRun: true, agreed: [] }),
    gcTime: 0, // each opening of the dialog asks again
  });
  const planned = plan.data?.rows.filter(({ action }) => action !== "kept") ?? [];
  const kept = (plan.data?.rows.length ?? 0) - planned.length;
  const run = useMutation({
    mutationFn: () =>
      api.send<ReclaimAnswer>("POST", gcPath(profile), {
        dryRun: false,
        agreed: planned.map(({ id, action }) => `${id} ${action}`),
      }),
    onError: (error) => {
      toasts.refuse(sentenceOf(error));
      void plan.refetch();
    },
    onSuccess: ({ rows, problem }) => {
      const failed = rows.find(({ action }) => action === "failed");
      if (problem !== null) toasts.refuse(problem);
      else if (failed !== undefined) toasts.refuse(w.failed(failed.name, failed.reason));
      else toasts.say(w.done(rows.filter(({ action }) => action !== "kept").length));
      for (const key of ["sandboxes", "sandbox", "snapshots"])
        void client.invalidateQueries({ queryKey: [key, profile] });
      onClose();
    },
  });
  return (
    <Confirm
      title={w.title}
      label={w.run(planned.length)}
      isDanger
      busy={run.isPending || plan.isFetching}
      disabled={planned.length === 0}
      onClose={onClose}
      onConfirm={() => planned.length > 0 && !plan.isFetching && run.mutate()}
    >
      {plan.error !== null && <FailureNote error={plan.error} retry={() => void plan.refetch()} />}
      {plan.data === undefined && plan.error === null && <p className="soft">{w.checking}</p>}
      {plan.data?.problem && <Note bad>{plan.data.problem}</Note>}
      {plan.data && (
        <>
          <p className="soft">{planned.length === 0 ? w.nothing : w.text}</p>
          <ul className={styles.plan}>
            {plan.data.rows.map(({ id, name, action, reason }) => (
              <li key={id}>
                <span className={action === "kept" ? "faint" : styles.acted}>{w.action[action]}</span>
                <b>{name}</b>
                <small>{reason}</small>
              </li>
            ))}
          </ul>
          {kept > 0 && <p className="soft">{w.kept(kept)}</p>}
        </>
      )}
    </Confirm>
  );
}
