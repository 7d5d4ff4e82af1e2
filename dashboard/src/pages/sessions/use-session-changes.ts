import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Session, SessionEdit } from "../../../../src/api/contract/sessions.ts";
import { useToasts } from "../../components/layout/toast.tsx";
import { useApi } from "../../data/app-data.tsx";
import { sessionPath, sessionQuery } from "../../transcript/session-queries.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";

const w = words.sessions.actions;

/** The changes that a person can make to a session. */
export function useSessionChanges({ profile, id }: Pick<Session, "profile" | "id">) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const navigate = useNavigate();
  const path = sessionPath(profile, id);
  const refresh = (): Promise<unknown> =>
    Promise.all([
      client.invalidateQueries({ queryKey: sessionQuery(api, profile, id).queryKey }),
      client.invalidateQueries({ queryKey: ["sessions", profile] }),
    ]);
  const refuse = (error: unknown): void => toasts.refuse(sentenceOf(error));
  const edit = (change: SessionEdit): Promise<unknown> => api.send("PATCH", path, change);

  const rename = useMutation({
    mutationFn: (title: string) => edit({ title }),
    onSuccess: () => {
      toasts.say(w.renamed);
      return refresh();
    },
  });
  const archive = useMutation({
    mutationFn: (archived: boolean) => edit({ archived }),
    onError: refuse,
    onSuccess: (_, archived) => {
      toasts.say(archived ? w.archivedNow : w.unarchivedNow, {
        label: w.undo,
        run: () => archive.mutate(!archived),
      });
      return refresh();
    },
  });
  const remove = useMutation({
    mutationFn: () => api.send("DELETE", path),
    onError: refuse,
    onSuccess: async () => {
      toasts.say(w.removed);
      await navigate({ to: "/sessions" });
      await client.invalidateQueries({ queryKey: ["sessions", profile] });
    },
  });
  return { rename, remove, setArchived: archive.mutate };
}
