import { counted, joined, money } from "../../format.ts";

/** The profiles of a home. */
export const profileWords = {
  title: "Profiles",
  hint: "Each profile has its own settings, keys and sessions.",
  create: "New profile",
  active: "used by commands",
  shown: "shown now",
  noModel: "no model",
  noDescription: "No description.",
  facts: (sessions: number, costUsd: number) =>
    `${counted(sessions, "session", "sessions")} · ${money(costUsd)}`,
  problems: (count: number) => `${counted(count, "problem", "problems")} in its settings`,
  gateway: "gateway running",
  show: "Show its pages",
  use: "Use for commands",
  used: (name: string) => `Commands without -p now use ${name}.`,
  describe: "Describe…",
  clone: "Clone…",
  remove: "Delete…",
  more: (name: string) => `More actions for ${name}`,
  form: {
    createTitle: "New profile",
    cloneTitle: (name: string) => `Clone ${name}`,
    name: "Name",
    nameHint: "Letters a-z, digits, - and _.",
    description: "What it is for",
    from: "Copy from",
    empty: "nothing: only the model of the default profile",
    everything: "Copy everything except history, not only settings, keys, persona, skills and memories",
    channels: "Also copy messaging accounts, which two profiles should not use at the same time",
    save: "Create the profile",
    created: (name: string) => `Created ${name}.`,
  },
  describeForm: {
    title: (name: string) => `Describe ${name}`,
    displayName: "Name for people",
    save: "Save",
    saved: "Saved.",
  },
  removal: {
    title: (name: string) => `Delete ${name}?`,
    reading: "Reading what this would end…",
    kept: (home: string) =>
      `Its settings, keys and sessions are moved out of ${home} and kept for thirty days.`,
    sessions: (count: number) => `${counted(count, "session", "sessions")} can no longer be opened.`,
    sandboxes: (names: readonly string[]) =>
      `${names.length === 1 ? "Its sandbox is" : "Its sandboxes are"} removed with the files inside: ${joined(names)}.`,
    tasks: (board: string, count: number) =>
      `${counted(count, "open task", "open tasks")} on the board ${board} stay without a profile.`,
    setting: (profile: string, key: string) => `The setting ${key} of ${profile} still names it.`,
    gateway: "Its gateway is running and loses its home; stop it first.",
    confirm: (name: string) => `Type ${name} to delete it`,
    now: "Delete the profile",
    done: (name: string, keptIn: string) => `Deleted ${name}. Its data is kept in ${keptIn}.`,
  },
};
