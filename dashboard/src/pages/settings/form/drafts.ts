import type { Setting } from "../../../../../src/api/contract/setup/settings.ts";

/** An unsaved edit of one setting. */
export interface Draft {
  /** The typed text; null removes the setting from config.yaml. */
  readonly text: string | null;
  /** What config.yaml said when the edit began. */
  readonly base: string | null;
}

/** Unsaved edits by the key of their setting. */
export type Drafts = Readonly<Record<string, Draft>>;

/** What the field of a setting shows without a draft: the text of the file, valid or not, unless a variable fixes the value. */
export function shownText({ fixedBy, stored, value }: Setting): string {
  return (fixedBy === null ? stored : null) ?? value ?? "";
}

/** Adds an edit; an edit back to what the file says removes the draft. */
export function edit(drafts: Drafts, setting: Setting, text: string | null): Drafts {
  const base = drafts[setting.key]?.base ?? setting.stored;
  const isBack = text === null ? setting.stored === null : text === shownText(setting);
  return isBack ? without(drafts, [setting.key]) : { ...drafts, [setting.key]: { text, base } };
}

export function without(drafts: Drafts, keys: readonly string[]): Drafts {
  const gone = new Set(keys);
  return Object.fromEntries(Object.entries(drafts).filter(([key]) => !gone.has(key)));
}

/** Whether config.yaml was changed elsewhere to something other than the draft. */
export function isConflict(draft: Draft | undefined, { stored }: Setting): boolean {
  return draft !== undefined && draft.base !== stored && draft.text !== stored;
}

/** Keeps the draft although the file was changed elsewhere. */
export function rebase(drafts: Drafts, { key, stored }: Setting): Drafts {
  const draft = drafts[key];
  return draft === undefined ? drafts : { ...drafts, [key]: { ...draft, base: stored } };
}

/** After a save: what was typed during it stays a draft, on top of what was saved. */
export function afterSave(drafts: Drafts, sent: Drafts, saved: ReadonlyMap<string, Setting>): Drafts {
  const rest: Record<string, Draft> = {};
  for (const [key, draft] of Object.entries(drafts)) {
    const before = sent[key];
    if (before === undefined) rest[key] = draft;
    else if (draft.text !== before.text) rest[key] = { ...draft, base: saved.get(key)?.stored ?? null };
  }
  return rest;
}

/** Reads stored drafts, without those of settings that do not exist or cannot be edited. */
export function parseDrafts(text: string, settings: ReadonlyMap<string, Setting>): Drafts {
  if (text === "") return {};
  try {
    const stored = JSON.parse(text) as Drafts;
    return Object.fromEntries(Object.entries(stored).filter(([key]) => settings.get(key)?.fixedBy === null));
  } catch {
    return {};
  }
}

/** What a save sends: the texts of the drafts, without the empty lines of lists. */
export function textsOf(
  drafts: Drafts,
  settings: ReadonlyMap<string, Setting>,
): Readonly<Record<string, string | null>> {
  const entries = Object.entries(drafts).map(([key, { text }]) => {
    const isLines = text !== null && settings.get(key)?.isTextList === true;
    return [key, isLines ? withoutEmptyLines(text) : text] as const;
  });
  return Object.fromEntries(entries);
}

function withoutEmptyLines(text: string): string {
  try {
    const items: unknown = JSON.parse(text);
    if (!Array.isArray(items)) return text;
    return JSON.stringify(items.filter((item) => typeof item !== "string" || item.trim() !== ""));
  } catch {
    return text;
  }
}
