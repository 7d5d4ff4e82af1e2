import { boardPath } from "../board-slug.ts";
import type { BoardLocation } from "../open-board.ts";
import type { ClaimedTask } from "../operations/runs/claim.ts";
import type { Workspace } from "../workspaces/workspace.ts";
import { RUN_MARK, runMark } from "./run-mark.ts";

/** Variables that describe the machine and the user and hold no secret of any profile. */
const PUBLIC_VARIABLES =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_\w+|SSH_AUTH_SOCK|DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY)|CONTAINER_HOST|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|NO_PROXY|no_proxy|NO_COLOR)$/;
/** Variables by which a hermes process describes itself to its own children. */
const PRIVATE_VARIABLES =
  /^HERMES_(KANBAN_|TUI|SESSION_|HOME$|PROFILE$|DELEGATE|TENANT$)|^(NODE_OPTIONS|NODE_CHANNEL_FD)$/;
const STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

type Variables = Readonly<Record<string, string | undefined>>;

/** The variables that every process may inherit; all others are dropped. */
export function pickPublicVariables(variables: Variables): Record<string, string> {
  const found = pick(variables, (name) => PUBLIC_VARIABLES.test(name));
  // A proxy address may contain a password, but without the proxy no provider is reachable.
  const proxies = pick(variables, (name) => /^(HTTPS?|ALL)_PROXY$/i.test(name));
  return { PATH: STANDARD_PATH, ...found, ...proxies };
}

export interface WorkerVariablesParts {
  readonly location: BoardLocation;
  /** The identity of the board. */
  readonly board: string;
  readonly claimed: ClaimedTask;
  readonly workspace: Workspace;
  readonly workspacesRoot: string;
  /** The assignee, whose settings and secrets are in its home. */
  readonly profile: { readonly name: string; readonly home: string };
  /** The variables of the dispatcher, whose profile is `dispatchedBy`. */
  readonly variables: Variables;
  readonly dispatchedBy: string;
}

/** The complete environment of a worker; only a worker of the dispatcher's own profile gets the dispatcher's variables. */
export function workerVariables(parts: WorkerVariablesParts): Record<string, string> {
  const { location, claimed, workspace, profile, variables } = parts;
  const { task, run } = claimed;
  const own =
    profile.name === parts.dispatchedBy ? pick(variables, (name) => !PRIVATE_VARIABLES.test(name)) : {};
  return {
    ...own,
    ...pickPublicVariables(variables),
    HERMES_HOME: profile.home,
    HERMES_PROFILE: profile.name,
    HERMES_SESSION_SOURCE: "kanban",
    HERMES_KANBAN_HOME: location.root,
    HERMES_KANBAN_BOARD: location.slug,
    ...(location.databaseUrl === "" && { HERMES_KANBAN_DB: boardPath(location.root, location.slug) }),
    HERMES_KANBAN_TASK: task.id,
    HERMES_KANBAN_RUN_ID: String(run.id),
    HERMES_KANBAN_WORKSPACE: workspace.path,
    HERMES_KANBAN_WORKSPACES_ROOT: parts.workspacesRoot,
    [RUN_MARK]: runMark(parts.board, { taskId: task.id, runId: run.id }),
    ...(workspace.branch !== undefined && { HERMES_KANBAN_BRANCH: workspace.branch }),
    ...(task.tenant !== null && { HERMES_TENANT: task.tenant }),
    ...(variables["HERMES_KANBAN_STOP_NUDGE"] !== undefined && {
      HERMES_KANBAN_STOP_NUDGE: variables["HERMES_KANBAN_STOP_NUDGE"],
    }),
  };
}

function pick(variables: Variables, isWanted: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && isWanted(entry[0]),
    ),
  );
}
