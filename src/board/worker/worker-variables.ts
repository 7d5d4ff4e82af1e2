import { boardPath } from "../board-slug.ts";
import type { BoardPlace } from "../board-store.ts";
import type { ClaimedTask } from "../operations/claim.ts";
import type { Workspace } from "../workspaces/workspace.ts";
import { RUN_MARK, runMark } from "./run-mark.ts";

/** Variables that say something about the machine and the person, and hold no secret of any profile. */
const OPEN_VARIABLES =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_\w+|SSH_AUTH_SOCK|DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY)|CONTAINER_HOST|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|NO_PROXY|no_proxy|NO_COLOR)$/;
/** What a process of ours tells its children about itself. */
const PRIVATE_VARIABLES =
  /^HERMES_(KANBAN_|TUI|SESSION_|HOME$|PROFILE$|DELEGATE|TENANT$)|^(NODE_OPTIONS|NODE_CHANNEL_FD)$/;
const STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

type Variables = Readonly<Record<string, string | undefined>>;

/** What any process may know of the machine; nothing else of what is around us goes on. */
export function openVariables(variables: Variables): Record<string, string> {
  const found = pick(variables, (name) => OPEN_VARIABLES.test(name));
  // A proxy's address may carry a password, but without it nothing is reachable at all.
  const proxies = pick(variables, (name) => /^(HTTPS?|ALL)_PROXY$/i.test(name));
  return { PATH: STANDARD_PATH, ...found, ...proxies };
}

export interface WorkerPlace {
  readonly place: BoardPlace;
  /** The identity of the board. */
  readonly board: string;
  readonly claimed: ClaimedTask;
  readonly workspace: Workspace;
  readonly workspacesRoot: string;
  /** The assignee, whose settings and secrets are in its home. */
  readonly profile: { readonly name: string; readonly home: string };
  /** Around the dispatcher, and whose profile that is. */
  readonly variables: Variables;
  readonly dispatchedBy: string;
}

/**
 * The whole environment of a worker. Variables of the dispatcher go on to a worker of its own profile only: what they
 * set and hold belongs to that one.
 */
export function workerVariables(parts: WorkerPlace): Record<string, string> {
  const { place, claimed, workspace, profile, variables } = parts;
  const { task, run } = claimed;
  const own =
    profile.name === parts.dispatchedBy ? pick(variables, (name) => !PRIVATE_VARIABLES.test(name)) : {};
  return {
    ...own,
    ...openVariables(variables),
    HERMES_HOME: profile.home,
    HERMES_PROFILE: profile.name,
    HERMES_SESSION_SOURCE: "kanban",
    HERMES_KANBAN_HOME: place.root,
    HERMES_KANBAN_BOARD: place.slug,
    ...(place.databaseUrl === "" && { HERMES_KANBAN_DB: boardPath(place.root, place.slug) }),
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
