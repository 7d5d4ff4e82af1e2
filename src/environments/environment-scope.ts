import { AppError } from "../lib/errors.ts";
import type { EnvironmentOverrides, TaskSettings } from "./environment-overrides.ts";
import type { EnvironmentRequest } from "./environment-request.ts";
import type { TerminalOptions } from "./options.ts";

/** The name under which everybody shares one environment. */
const SHARED = "default";
/** A task that has its own of one of these cannot share an environment with the others. */
const ISOLATING: readonly (keyof TerminalOptions)[] = ["backend", "docker_image", "singularity_image"];
/** Looked at for each command, so that two who differ in them can share an environment all the same. */
const PER_COMMAND: readonly string[] = ["cwd", "timeout", "max_foreground_timeout"];

/** Who wants an environment: the request of one task, and the session that the task belongs to. */
export interface EnvironmentClaim {
  /** Its `task` is the one that asks, whoever it will share with. */
  readonly request: EnvironmentRequest;
  readonly session: string;
}

/** Which environment a claim means. */
export interface EnvironmentScope {
  /** The same for all who share it. */
  readonly key: string;
  /** Whose it is alone, subagents included; undefined when others share it or one task has it. */
  readonly session: string | undefined;
  /** Its files vanish with it, and nobody but one session or task has any: unused, there is nothing to keep. */
  readonly isPassing: boolean;
  /** What it is opened with, each time: a function of the key, never of who came first. */
  readonly request: EnvironmentRequest;
  /** The settings of the task that asked, for its own commands. */
  readonly options: TerminalOptions;
}

/** Finds out who shares: all tasks of a profile, those of a session, or nobody when a task has its own kind of place. */
export function scopeOf(
  { request, session }: EnvironmentClaim,
  overrides: EnvironmentOverrides,
): EnvironmentScope {
  const { task } = request;
  const { home } = request.profile;
  const own = overrides.of({ home, task });
  const isIsolated = ISOLATING.some((key) => own[key] !== undefined);
  const name = isIsolated ? task : { shared: SHARED, session, task }[request.options.isolation];
  if (name !== task) refuseWhatCannotBeShared(task, own);
  // The folder is no part of a place: each session has its own, and may get another at any time.
  const { cwd: _, ...shaping } = overrides.of({ home, task: name });
  const options: TerminalOptions = Object.freeze({ ...request.options, ...shaping });
  const fingerprint = Object.entries(options).filter(([key]) => !PER_COMMAND.includes(key));
  return {
    key: JSON.stringify([home, name, fingerprint]),
    isPassing: name !== SHARED && !options.container_persistent,
    session: !isIsolated && options.isolation === "session" ? session : undefined,
    request: Object.freeze({ ...request, task: name, options }),
    options: Object.freeze({ ...request.options, ...own }),
  };
}

function refuseWhatCannotBeShared(task: string, own: TaskSettings): void {
  const refused = Object.keys(own).filter((key) => !PER_COMMAND.includes(key));
  if (refused.length === 0) return;
  // Left out silently, a task could believe to be cut off from the network while it is not.
  throw new AppError(
    "config-invalid",
    `Task ${task} has its own ${refused.join(", ")}, but shares its environment with others.`,
    { hint: `Give it its own ${ISOLATING.join(" or ")} too, or set terminal.isolation to task.` },
  );
}
