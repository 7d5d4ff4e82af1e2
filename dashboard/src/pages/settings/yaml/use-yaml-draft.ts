import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type {
  InvalidSettings,
  SettingProblem,
  SettingsYaml,
} from "../../../../../src/api/contract/setup/settings.ts";
import { useToasts } from "../../../components/layout/toast.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { Problem } from "../../../data/problem.ts";
import { useDraft } from "../../../data/use-draft.ts";
import { pageWords } from "../../../words/page-words.ts";
import { sentenceOf } from "../../../words/problem-words.ts";
import { settingsPath } from "../settings-queries.ts";

const w = pageWords.settings.text;

/** An unsaved text of config.yaml, and the version that it is based on. */
interface YamlDraft {
  readonly text: string;
  readonly version: string;
}

export function useYamlDraft(profile: string, answer: SettingsYaml | undefined) {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const [kept, keep] = useDraft(`yaml ${profile}`);
  const [refused, setRefused] = useState<readonly SettingProblem[]>();
  const [isSaving, setSaving] = useState(false);
  const draft = parse(kept);
  const latest = useRef(draft);
  useEffect(() => {
    latest.current = draft;
  });
  const text = draft?.text ?? answer?.text ?? "";
  const version = draft?.version ?? answer?.version ?? "";
  const isStale =
    draft !== undefined &&
    answer !== undefined &&
    !isSaving &&
    draft.version !== answer.version &&
    draft.text !== answer.text;

  const write = (next: string, on = version): void => {
    setRefused(undefined);
    const isSame = answer !== undefined && next === answer.text && on === answer.version;
    const changed = isSame ? undefined : { text: next, version: on };
    latest.current = changed;
    keep(changed === undefined ? "" : JSON.stringify(changed));
  };

  return {
    text,
    isChanged: draft !== undefined && draft.text !== answer?.text,
    isStale,
    isSaving,
    problems: refused ?? (draft === undefined ? (answer?.problems ?? []) : []),
    write,
    discard: () => {
      setRefused(undefined);
      keep("");
    },
    /** Continues with the own text on top of the newer one. */
    keepMine: () => answer && write(text, answer.version),
    async save(): Promise<void> {
      setSaving(true);
      try {
        const saved = await api.send<{ version: string }>("PUT", `${settingsPath(profile)}/yaml`, {
          text,
          version,
        });
        await client.invalidateQueries({ queryKey: ["settings", profile] });
        const now = latest.current;
        if (now === undefined || now.text === text) keep("");
        else write(now.text, saved.version);
        toasts.say(w.saved);
      } catch (error) {
        if (error instanceof Problem && error.code === "settings-invalid")
          setRefused((error.details as InvalidSettings).problems);
        if (error instanceof Problem && error.code === "settings-stale")
          await client.invalidateQueries({ queryKey: ["settings", profile] });
        toasts.refuse(sentenceOf(error));
      } finally {
        setSaving(false);
      }
    },
  };
}

function parse(kept: string): YamlDraft | undefined {
  if (kept === "") return undefined;
  try {
    return JSON.parse(kept) as YamlDraft;
  } catch {
    return undefined;
  }
}
