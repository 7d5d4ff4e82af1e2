/** Every known failure: its HTTP status, its exit code, and the advice given when the thrower has none better. */
export const ERROR_CODES = {
  "usage-wrong": { http: 400, exit: 2, hint: "See `hermes --help`." },
  "config-invalid": { http: 400, exit: 78, hint: "Run `hermes config check` to see every problem at once." },
  "config-key-unknown": { http: 404, exit: 78, hint: "List every setting with `hermes config keys`." },
  "home-unusable": {
    http: 500,
    exit: 1,
    hint: "Point HERMES_HOME at a folder that you own and can write to.",
  },
  "home-gone": {
    http: 404,
    exit: 1,
    hint: "The profile was renamed or deleted meanwhile; see `hermes profile list`.",
  },
  "file-unreadable": { http: 500, exit: 1, hint: "Check that the file exists and that you may read it." },
  "file-unwritable": { http: 500, exit: 1, hint: "Check free space and permissions of its folder." },
  "profile-name-invalid": {
    http: 400,
    exit: 1,
    hint: "Use up to 64 letters a-z, digits, `-` and `_`, starting with a letter or digit.",
  },
  "profile-not-found": { http: 404, exit: 1, hint: "See `hermes profile list`." },
  "profile-exists": { http: 409, exit: 1, hint: "Choose another name, or delete the profile first." },
  "profile-rename-unfinished": {
    http: 409,
    exit: 1,
    hint: "Run the same `hermes profile rename` again; it goes on where it was.",
  },
  "profile-protected": {
    http: 409,
    exit: 1,
    hint: "The default profile is the home itself and always exists.",
  },
  "database-newer": { http: 500, exit: 1, hint: "Update Hermes, or use another HERMES_HOME." },
  "database-foreign": { http: 500, exit: 1, hint: "Move the file aside, or use another HERMES_HOME." },
  "database-damaged": { http: 500, exit: 1, hint: "Restore the file from a backup, or move it aside." },
  "database-unavailable": { http: 503, exit: 1, hint: "Check free space and permissions of its folder." },
  "database-busy": { http: 503, exit: 1, hint: "Another process holds the database; try again in a moment." },
  "lock-busy": { http: 503, exit: 1, hint: "Another process is doing the same; try again in a moment." },
  "process-unstartable": { http: 500, exit: 1, hint: "Check that the program is installed and on the PATH." },
  "process-timeout": { http: 504, exit: 1, hint: "Try again, or allow more time." },
  "http-failed": { http: 502, exit: 1, hint: "Check the network, HTTPS_PROXY and NO_PROXY." },
  "channel-unopened": { http: 503, exit: 1, hint: "Check that the environment runs and has a shell." },
  "ssh-unreachable": {
    http: 503,
    exit: 1,
    hint: "Check terminal.ssh_host and terminal.ssh_port, and that the host answers.",
  },
  "ssh-denied": { http: 502, exit: 1, hint: "Check terminal.ssh_user and terminal.ssh_key." },
  "ssh-host-key-changed": { http: 502, exit: 1, hint: "Find out why before you connect again." },
  "sandbox-unavailable": {
    http: 503,
    exit: 1,
    hint: "Check that the container engine runs, for instance with `docker version`.",
  },
  "sandbox-image-missing": {
    http: 502,
    exit: 1,
    hint: "Check terminal.docker_image and the network, or fetch the image yourself.",
  },
  "sandbox-drifted": {
    http: 409,
    exit: 1,
    hint: "Set terminal.docker_on_drift to keep or replace, or remove the sandbox.",
  },
  "sandbox-refused": { http: 409, exit: 1, hint: "Change the setting that the message names." },
  "sandbox-mount-refused": {
    http: 400,
    exit: 1,
    hint: "Mount a project folder of its own instead.",
  },
  "snapshot-not-found": { http: 404, exit: 1, hint: "See `hermes sandbox snapshots`." },
  "snapshot-exists": { http: 409, exit: 1, hint: "Choose another name, or remove that one first." },
  "sandbox-held": { http: 409, exit: 1, hint: "Wait until nobody uses the sandbox." },
  "sandbox-exists": { http: 409, exit: 1, hint: "Choose another task, or remove its sandbox first." },
  "environment-unbuilt": {
    http: 501,
    exit: 78,
    hint: "Set terminal.backend to local, docker, podman or ssh.",
  },
  "environment-closed": { http: 503, exit: 1, hint: "Nothing was run. Ask for the environment again." },
  "budget-unenforceable": {
    http: 400,
    exit: 78,
    hint: "Set its price below `providers` (NAME.models.MODEL.price: { input, output } in dollars per million tokens), or drop the limit.",
  },
  "budget-spent": { http: 402, exit: 3, hint: "Raise the limit, or wait until it begins anew." },
  "turn-failed": { http: 500, exit: 1, hint: "Go on with `hermes -c -z` and a new message." },
  "job-not-found": { http: 404, exit: 1, hint: "See their ids with `hermes sandbox jobs --all`." },
  "job-unstarted": { http: 409, exit: 125, hint: "Nothing of it runs. Change what the message names." },
  "job-survived": {
    http: 500,
    exit: 1,
    hint: "It stays in the list. Try again, or stop the sandbox; a process of another user only that user can end.",
  },
  "job-unreachable": { http: 503, exit: 1, hint: "Try again; the job itself may still run." },
  "session-not-found": { http: 404, exit: 1, hint: "See `hermes sessions list`." },
  "session-ambiguous": { http: 409, exit: 1, hint: "Give more of the id." },
  "session-busy": { http: 409, exit: 1, hint: "Wait until that turn is over, or stop it there." },
  "session-lost": {
    http: 409,
    exit: 1,
    hint: "Another process goes on with this session; look at it there.",
  },
  "session-gone": {
    http: 410,
    exit: 1,
    hint: "What the run did is done, but its session cannot be gone on with. Look at what was done before you run it again.",
  },
  "session-event-refused": {
    http: 409,
    exit: 1,
    hint: "What was stored before is unchanged; load the session again.",
  },
  "session-title-invalid": { http: 400, exit: 1, hint: "Give a title of 1 to 100 visible characters." },
  "session-title-taken": { http: 409, exit: 1, hint: "Choose another title." },
  "board-slug-invalid": {
    http: 400,
    exit: 1,
    hint: "Use up to 64 letters a-z, digits, `-` and `_`, starting with a letter or digit.",
  },
  "board-not-found": { http: 404, exit: 1, hint: "See `hermes kanban boards list`." },
  "board-not-empty": { http: 409, exit: 1, hint: "Import into a new board." },
  "board-import-invalid": { http: 400, exit: 1, hint: "Nothing was imported. Export the board again." },
  "board-action-denied": {
    http: 403,
    exit: 1,
    hint: "Do it in your own task, or block that with a question to a person.",
  },
  "task-ambiguous": { http: 409, exit: 1, hint: "Give more of the id." },
  "task-not-found": { http: 404, exit: 1, hint: "See `hermes kanban list`." },
  "task-input-invalid": { http: 400, exit: 2, hint: "Nothing was changed. Correct what the message names." },
  "task-move-refused": { http: 409, exit: 1, hint: "See `hermes kanban show` for where the task stands." },
  "task-parents-open": { http: 409, exit: 1, hint: "Finish or unlink the tasks that it waits for." },
  "task-link-cycle": {
    http: 409,
    exit: 1,
    hint: "A task cannot wait for itself. Remove another link first.",
  },
  "task-limit-reached": {
    http: 409,
    exit: 1,
    hint: "Do the rest in this task, or hand it over to a person with its summary.",
  },
  "task-running": {
    http: 409,
    exit: 1,
    hint: "Wait for its run to end, or end it with `hermes kanban reclaim`.",
  },
  "run-superseded": { http: 409, exit: 1, hint: "Stop: this run is over, and another one may be at work." },
  "workspace-refused": {
    http: 409,
    exit: 1,
    hint: "Correct the workspace of the task, or the folder it names.",
  },
  "artifact-refused": {
    http: 400,
    exit: 1,
    hint: "Nothing was completed. Put the file into the workspace and try again, or leave it out.",
  },
  "attachment-too-large": { http: 413, exit: 1, hint: "Attach less than 25 MiB, or a link to it." },
  "attachment-damaged": {
    http: 409,
    exit: 1,
    hint: "Attach the file again, and take the damaged one away with `hermes kanban attach-rm`.",
  },
  "attachment-missing": { http: 404, exit: 1, hint: "See `hermes kanban attachments`." },
  "provider-unknown": { http: 400, exit: 78, hint: "See `hermes config explain model.provider`." },
  "provider-incomplete": { http: 400, exit: 78, hint: "Set model.base_url." },
  "provider-key-missing": {
    http: 401,
    exit: 78,
    hint: "Put the provider's key into the .env file of the profile.",
  },
  "model-unnamed": { http: 400, exit: 78, hint: "Set model.default." },
  "script-invalid": { http: 400, exit: 78, hint: "See docs/scripted-model.md." },
  "confirmation-missing": { http: 400, exit: 1, hint: "Add --yes to go ahead without being asked." },
  "checks-failed": { http: 500, exit: 1, hint: "Follow the advice beside each and run it again." },
  "folder-gone": { http: 409, exit: 1, hint: "Change to a folder that exists, for instance with `cd`." },
  "output-unwritable": { http: 500, exit: 1, hint: "Check free space where the output goes." },
  // What a signal ended: 128 and its number, as shells have it.
  /** The reader of our output left early. Other programs die of SIGPIPE then. */
  "reader-gone": { http: 499, exit: 141, hint: "Run the command again to see the rest." },
  "hung-up": { http: 499, exit: 129, hint: "Run the command again to go on." },
  quit: { http: 499, exit: 131, hint: "Run the command again to go on." },
  interrupted: { http: 499, exit: 130, hint: "Run the command again to go on." },
  terminated: { http: 499, exit: 143, hint: "Run the command again to go on." },
} as const satisfies Record<string, { http: number; exit: number; hint: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** A failure we know: what happened in the message, what to do next in the hint. Anything else thrown is a bug. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? ERROR_CODES[code].hint;
  }

  get exitCode(): number {
    return ERROR_CODES[this.code].exit;
  }

  get httpStatus(): number {
    return ERROR_CODES[this.code].http;
  }
}

/** The errno name (`ENOENT`, `EACCES`…) of a failed system call, or undefined for any other throw. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
