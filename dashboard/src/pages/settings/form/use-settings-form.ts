import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type {
  InvalidSettings,
  Setting,
  SettingsAnswer,
  SettingsSaved,
} from "../../../../../src/api/contract/setup/settings.ts";
import { useToasts } from "../../../components/layout/toast.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { Problem } from "../../../data/problem.ts";
import { useDraft } from "../../../data/use-draft.ts";
import { pageWords } from "../../../words/page-words.ts";
import { sentenceOf } from "../../../words/problem-words.ts";
import { settingsPath, settingsQuery } from "../settings-queries.ts";
import { afterSave, type Drafts, edit, isConflict, parseDrafts, rebase, textsOf, without } from "./drafts.ts";

const w = pageWords.settings;

const NONE: ReadonlySet<string> = new Set();

export interface SettingsForm {
  readonly drafts: Drafts;
  /** Sentences about refused texts, by setting. */
  readonly problems: Readonly<Record<string, string>>;
  /** The settings that are being saved. */
  readonly saving: ReadonlySet<string>;
  /** How many drafts are in conflict with the file. */
  readonly conflicts: number;
  isConflict(setting: Setting): boolean;
  change(setting: Setting, text: string | null): void;
  keepMine(setting: Setting): void;
  drop(keys: readonly string[]): void;
  save(): Promise<void>;
}

/** The unsaved edits of the settings of a profile, and their save. */
export function useSettingsForm(profile: string, answer: SettingsAnswer): SettingsForm {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const [kept, keep] = useDraft(`settings ${profile}`);
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [saving, setSaving] = useState<ReadonlySet<string>>(NONE);
  const settings = useMemo(() => byKey(answer), [answer]);
  const drafts = useMemo(() => parseDrafts(kept, settings), [kept, settings]);

  const latest = useRef(drafts); // a save continues after renders with newer drafts
  useEffect(() => {
    latest.current = drafts;
  }, [drafts]);

  const update = (change: (drafts: Drafts) => Drafts): void => {
    const next = change(latest.current);
    latest.current = next;
    keep(Object.keys(next).length === 0 ? "" : JSON.stringify(next));
  };
  const forget = (keys: readonly string[]): void =>
    setProblems((earlier) =>
      Object.fromEntries(Object.entries(earlier).filter(([key]) => !keys.includes(key))),
    );
  const hasConflict = (setting: Setting): boolean =>
    !saving.has(setting.key) && isConflict(drafts[setting.key], setting);

  async function save(): Promise<void> {
    const before = drafts;
    const changes = textsOf(drafts, settings);
    setSaving(new Set(Object.keys(changes)));
    setProblems({});
    try {
      const { version } = answer;
      const saved = await api.send<SettingsSaved>("PATCH", settingsPath(profile), { changes, version });
      const fresh = await client.fetchQuery({ ...settingsQuery(api, profile), staleTime: 0 });
      await client.invalidateQueries({ queryKey: ["settings", profile, "yaml"] });
      update((now) => afterSave(now, before, byKey(fresh)));
      toasts.say(saved.changed.length === 0 ? w.savedNothing : w.saved(saved.changed.length));
    } catch (error) {
      const invalid = error instanceof Problem && error.code === "settings-invalid";
      if (invalid) {
        const found = (error.details as InvalidSettings).problems;
        setProblems(Object.fromEntries(found.map(({ key, text }) => [key ?? "", text])));
      }
      if (error instanceof Problem && error.code === "settings-stale") {
        await client.invalidateQueries({ queryKey: ["settings", profile] });
        toasts.refuse(w.stale);
      } else toasts.refuse(sentenceOf(error));
    } finally {
      setSaving(NONE);
    }
  }

  return {
    drafts,
    problems,
    saving,
    conflicts: answer.settings.filter(hasConflict).length,
    isConflict: hasConflict,
    change(setting, text) {
      forget([setting.key]);
      update((now) => edit(now, setting, text));
    },
    keepMine: (setting) => update((now) => rebase(now, setting)),
    drop(keys) {
      forget(keys);
      update((now) => without(now, keys));
    },
    save,
  };
}

const byKey = ({ settings }: SettingsAnswer): ReadonlyMap<string, Setting> =>
  new Map(settings.map((setting) => [setting.key, setting]));
