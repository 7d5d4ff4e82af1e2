import { AppError } from "../lib/errors.ts";
import { type TerminalOptions, terminalOptions } from "./options.ts";

/** Settings of section `terminal` that hold for one task instead of the profile's. */
export type TaskSettings = Partial<TerminalOptions>;

/** Which task is meant; names of tasks are unique only within a home. */
export interface TaskOwner {
  readonly home: string;
  readonly task: string;
}

/** What single tasks have instead of the settings of their profile. Each value passes the schema of the settings. */
export interface EnvironmentOverrides {
  /** Replaces all that the task had. */
  register(owner: TaskOwner, settings: unknown): void;
  /** Adds to what the task has. */
  update(owner: TaskOwner, settings: unknown): void;
  /** Forgets the task's folder, unless somebody has set another one meanwhile; says whether it did. */
  clearCwd(owner: TaskOwner, expected: string): boolean;
  /** Forgets all that the task had. */
  clear(owner: TaskOwner): void;
  of(owner: TaskOwner): TaskSettings;
}

export function createEnvironmentOverrides(): EnvironmentOverrides {
  const known = new Map<string, TaskSettings>();

  function set(owner: TaskOwner, settings: TaskSettings): void {
    if (Object.keys(settings).length === 0) known.delete(keyOf(owner));
    else known.set(keyOf(owner), Object.freeze(settings));
  }
  const of = (owner: TaskOwner): TaskSettings => known.get(keyOf(owner)) ?? {};

  return {
    of,
    register: (owner, settings) => set(owner, parseSettings(owner, settings)),
    update: (owner, settings) => set(owner, { ...of(owner), ...parseSettings(owner, settings) }),
    clearCwd(owner, expected) {
      const { cwd, ...rest } = of(owner);
      if (cwd !== expected) return false;
      set(owner, rest);
      return true;
    },
    clear: (owner) => void known.delete(keyOf(owner)),
  };
}

function keyOf({ home, task }: TaskOwner): string {
  return JSON.stringify([home, task]);
}

function parseSettings({ task }: TaskOwner, settings: unknown): TaskSettings {
  const parsed = terminalOptions.safeParse(settings);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${["terminal", ...path].join(".")}: ${message}`,
    );
    throw new AppError("config-invalid", `The settings of task ${task} are wrong: ${problems.join("; ")}.`, {
      hint: "Use the keys and values of section `terminal`; see `hermes config keys`.",
    });
  }
  // The schema fills in its defaults, which nobody asked to have instead of the profile's settings.
  const given = new Set(
    Object.entries(settings as object).flatMap(([key, value]) => (value === undefined ? [] : key)),
  );
  return Object.fromEntries(Object.entries(parsed.data).filter(([key]) => given.has(key)));
}
