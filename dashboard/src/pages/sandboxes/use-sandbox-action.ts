import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { SandboxActionAnswer } from "../../../../src/api/contract/machines/sandboxes.ts";
import { useToasts } from "../../components/layout/toast.tsx";
import { useApi } from "../../data/app-data.tsx";
import { sentenceOf } from "../../words/problem-words.ts";

interface SandboxAction {
  readonly profile: string;
  /** The path below `api/`. */
  readonly path: string;
  /** The sentence that reports the end. */
  done(answer: SandboxActionAnswer): string;
  onDone?(answer: SandboxActionAnswer): void;
}

/** One change of a sandbox. Afterwards everything about the profile's sandboxes is read again. */
export function useSandboxAction({ profile, path, done, onDone }: SandboxAction) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const refresh = (): void => {
    for (const key of ["sandboxes", "sandbox", "snapshots"])
      void client.invalidateQueries({ queryKey: [key, profile] });
  };
  return useMutation({
    mutationFn: (body: object) => api.send<SandboxActionAnswer>("POST", path, body),
    onError: (error) => {
      toasts.refuse(sentenceOf(error));
      refresh();
    },
    onSuccess: (answer) => {
      toasts.say([done(answer), ...answer.notices].join(" "));
      onDone?.(answer);
      refresh();
    },
  });
}
