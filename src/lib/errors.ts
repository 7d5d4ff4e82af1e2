/** Every known failure, with the hint for an error without its own hint. */
export const HINTS = {
  "usage-wrong": "See `hermes --help`.",
  "config-invalid": "Run `hermes config check` to see every problem at once.",
  "config-key-unknown": "List every setting with `hermes config keys`.",
  "setting-fixed": "Change or unset the variable or flag where it is set, then start the dashboard again.",
  "home-unusable": "Point HERMES_HOME at a folder that you own and can write to.",
  "home-gone": "The profile was renamed or deleted; see `hermes profile list`.",
  "file-unreadable": "Check that the file exists and that you may read it.",
  "reference-refused": "Correct the reference, or write \\@ to send it as text.",
  "reference-too-large": "Name fewer files, or only some lines, as in @file:PATH:1-200.",
  "model-blind":
    "Choose another model (-m, in a chat /model), or set auxiliary.vision.model to a model that describes images. If this model can see images, set agent.image_input_mode to native.",
  "image-undescribed": "Try again, or choose another model with auxiliary.vision.model.",
  "url-refused": "Check the address in a browser, or leave it out.",
  "address-private": "To allow such addresses, set security.allow_private_urls.",
  "file-unwritable": "Check free space and permissions of its folder.",
  "profile-name-invalid": "Use up to 64 letters a-z, digits, `-` and `_`, starting with a letter or digit.",
  "profile-not-found": "See `hermes profile list`.",
  "profile-exists": "Choose another name, or delete the profile first.",
  "profile-rename-unfinished": "Run the same `hermes profile rename` again to resume.",
  "profile-protected": "The default profile is the home itself and always exists.",
  "database-newer": "Update Hermes, or use another HERMES_HOME.",
  "database-foreign": "Move the file aside, or use another HERMES_HOME.",
  "database-damaged": "Restore the file from a backup, or move it aside.",
  "database-replaced": "Run the command again to use the current file.",
  "database-unavailable": "Check free space and permissions of its folder.",
  "database-busy": "Another process holds the database; try again in a moment.",
  "lock-busy": "Another process is doing the same; try again in a moment.",
  "process-unstartable": "Check that the program is installed and on the PATH.",
  "http-failed": "Check the network, HTTPS_PROXY and NO_PROXY.",
  "channel-unopened": "Check that the environment runs and has a shell.",
  "shell-init-slow":
    "Find the slow line with `bash -xlc true`, or name other files in terminal.shell_init_files (`/dev/null` for none).",
  "ssh-unreachable": "Check terminal.ssh_host and terminal.ssh_port, and that the host answers.",
  "ssh-denied": "Check terminal.ssh_user and terminal.ssh_key.",
  "ssh-host-key-changed": "Find out why the key changed before you connect again.",
  "sandbox-unavailable": "Check that the container engine runs, for instance with `docker version`.",
  "local-sandbox-unavailable": "Run `hermes doctor`, or set terminal.local_sandbox to off.",
  "sandbox-image-missing": "Check terminal.docker_image and the network, or pull the image yourself.",
  "sandbox-drifted": "Set terminal.docker_on_drift to keep or replace, or remove the sandbox.",
  "sandbox-refused": "Change the setting named in the message.",
  "sandbox-mount-refused": "Mount a separate project folder instead.",
  "snapshot-not-found": "See `hermes sandbox snapshots`.",
  "snapshot-exists": "Choose another name, or remove that one first.",
  "sandbox-held": "Wait until the sandbox is no longer in use.",
  "sandbox-exists": "Choose another task, or remove its sandbox first.",
  "environment-closed": "No command was run. Open the environment again.",
  "budget-unenforceable":
    "Set its price below `providers` (NAME.models.MODEL.price: { input, output } in dollars per million tokens), or drop the limit.",
  "budget-spent": "Raise the limit, or wait until it resets.",
  "api-key-weak": "Remove it, so that a new one is generated, or set one of 32 random characters or more.",
  "api-port-taken": "Set another api_server.port, or stop the program that uses it.",
  "api-unbound": "Check api_server.host and api_server.port.",
  "dashboard-port-taken":
    "Choose another one with --port or dashboard.port, or stop the program that uses it.",
  "dashboard-unbound": "Check dashboard.host and dashboard.port.",
  "dashboard-exposed":
    "Set a password with `hermes dashboard password` or a provider in dashboard.oidc, or keep dashboard.host on 127.0.0.1 and dashboard.public_url empty.",
  "dashboard-replaced": "See `hermes dashboard link`.",
  "terminal-unavailable": "Use the command line: `hermes sandbox shell`, `hermes sandbox attach`, `hermes`.",
  "dashboard-stopped": "Start it with `hermes dashboard`.",
  "turn-stopped": "Nothing was sent to the model; send the message again to run it.",
  "turns-full": "Try again when one of them has ended.",
  "turns-draining": "Try again once the server has restarted.",
  "turn-failed": "Continue with `hermes -c -z` and a new message.",
  "job-not-found":
    "List job ids with `hermes sandbox jobs --all`, and with --task those of the sandbox of another task.",
  "job-unstarted": "Correct the problem named in the message.",
  "job-survived":
    "The job stays in the list. Try again, or stop the sandbox. A process of another user can be ended only by that user.",
  "job-unreachable": "Try again; the job itself may still run.",
  "session-not-found": "See `hermes sessions list`.",
  "session-ambiguous": "Type more of the id.",
  "session-busy": "Wait until that turn has ended, or stop it in its own process.",
  "session-lost": "Another process has taken over this session; continue there.",
  "session-gone":
    "The changes made by the run remain, but its session cannot be resumed. Check the changes before you run it again.",
  "session-damaged": "Read it with `hermes sessions show`, and continue in a new session.",
  "turn-not-found": "See `hermes sessions show SESSION`.",
  "message-not-found": "`hermes sessions show SESSION` shows the number of each message.",
  "session-event-refused": "The stored events are unchanged; load the session again.",
  "rules-invalid":
    "A rule file has the lists allow, ask and deny. Correct it; see `hermes approvals --help`.",
  "approval-denied": "Answer the question in a terminal of your own.",
  "approval-not-found": "See `hermes approvals list`.",
  "approval-kind-wrong": "See `hermes approvals list` for what is asked.",
  "approval-answered": "See `hermes approvals list --all` for its answer.",
  "call-not-found": "List decisions with `hermes audit`.",
  "session-interrupted": "Send a message to the session first, so that its turn ends.",
  "compaction-pointless": "Continue as usual; nothing was changed.",
  "compaction-failed": "The session is unchanged. Set another model with auxiliary.compression.model.",
  "session-title-invalid": "Give a title of 1 to 100 visible characters.",
  "title-unwritten": "Give a title yourself, or choose another model with auxiliary.title_generation.model.",
  "session-title-taken": "Choose another title.",
  "pairing-not-found": "See `hermes pairing list`.",
  "pairing-locked": "Wait an hour, or approve by the id that `hermes pairing list` shows.",
  "gateway-running": "See `hermes gateway status`.",
  "gateway-unstarted": "See `hermes logs errors`, or run `hermes gateway run` to watch it.",
  "hook-unknown": "See `hermes gateway hooks`.",
  "target-unknown": "See `hermes send --list`.",
  "send-refused": "Nothing was sent.",
  "send-failed": "See `hermes gateway status`.",
  "file-not-placed": "Send the file again, or put it into the environment yourself.",
  "gateway-stopped": "Start it with `hermes gateway run` or `hermes gateway start`.",
  "message-unknown": "See `hermes gateway messages`.",
  "board-slug-invalid": "Use up to 64 letters a-z, digits, `-` and `_`, starting with a letter or digit.",
  "board-not-found": "See `hermes kanban boards list`.",
  "board-not-empty": "Import into a new board.",
  "board-import-invalid": "Nothing was imported. Export the board again.",
  "board-action-denied": "Act on your own task, or block it with a question to a person.",
  "task-ambiguous": "Type more of the id.",
  "task-not-found": "See `hermes kanban list`.",
  "task-input-invalid": "Nothing was changed. Correct the input named in the message.",
  "task-move-refused": "See `hermes kanban show` for the state of the task.",
  "task-changed": "Read the task again, and change what is still wrong.",
  "task-parents-open": "Finish or unlink the tasks that it waits for.",
  "task-link-cycle": "A task cannot wait for itself. Remove another link first.",
  "task-limit-reached": "Do the rest in this task, or hand it over to a person with its summary.",
  "task-running": "Wait for its run to end, or end it with `hermes kanban reclaim`.",
  "run-superseded": "Stop: this run has ended, and another run may be in progress.",
  "checkpoint-failed":
    "Free space or correct the reason, then continue; until then `hermes rollback` cannot undo turns.",
  "rollback-unfinished": "Correct the reason; the next `hermes rollback --list` finishes the rollback.",
  "checkpoint-missing":
    "Checkpoints are taken while `checkpoints.enabled` is true. `hermes rollback --list` shows them.",
  "workspace-refused": "Correct the workspace of the task, or the folder it names.",
  "artifact-refused":
    "The task was not completed. Put the file into the workspace and try again, or leave it out.",
  "attachment-too-large": "Attach less than 25 MiB, or a link to it.",
  "attachment-damaged": "Attach the file again, and remove the damaged one with `hermes kanban attach-rm`.",
  "attachment-missing": "See `hermes kanban attachments`.",
  "provider-unknown": "See `hermes config explain model.provider`.",
  "provider-incomplete": "Set model.base_url.",
  "provider-key-missing": "Put the provider's key into the .env file of the profile.",
  "key-not-found": "See `hermes auth list`.",
  "key-exists": "See `hermes auth list`.",
  "key-unproved": "Check the key, or add --no-test.",
  "model-unnamed": "Set model.default.",
  "model-unknown": "See `hermes model list`.",
  "model-unanswered": "Run `hermes doctor`.",
  "models-unlisted": "Try again later; the model itself may still answer: `hermes model test`.",
  "model-data-invalid": "The data file in use is unchanged. Check model_catalog.url.",
  "terminal-missing":
    "Run it in a terminal, or set a model without questions: `hermes auth add PROVIDER` with the key on standard input, or `hermes config set model.base_url ADDRESS`.",
  "script-invalid": "See docs/scripted-model.md.",
  "confirmation-missing": "Add --yes to skip the confirmation.",
  "checks-failed": "Follow the hint of each finding, then run the command again.",
  "folder-gone": "Change to a folder that exists, for instance with `cd`.",
  "output-unwritable": "Check free space where the output goes.",
  "reader-gone": "Run the command again to see the rest.",
  "hung-up": "Run the command again to continue.",
  quit: "Run the command again to continue.",
  interrupted: "Run the command again to continue.",
  terminated: "Run the command again to continue.",
} as const;

export type ErrorCode = keyof typeof HINTS;

/** Exit codes other than 1. A failure that a signal caused has 128 plus the signal number, as in shells. */
export const EXIT_CODES = {
  "usage-wrong": 2,
  "config-invalid": 78,
  "config-key-unknown": 78,
  "rules-invalid": 78,
  "api-key-weak": 78,
  "api-port-taken": 78,
  "api-unbound": 78,
  "dashboard-port-taken": 78,
  "dashboard-unbound": 78,
  "dashboard-exposed": 78,
  "budget-unenforceable": 78,
  "budget-spent": 3,
  "job-unstarted": 125,
  "task-input-invalid": 2,
  "provider-unknown": 78,
  "provider-incomplete": 78,
  "provider-key-missing": 78,
  "model-unnamed": 78,
  "model-unknown": 78,
  "terminal-missing": 78,
  "script-invalid": 78,
  "gateway-running": 78,
  /** The reader of our output closed the pipe; SIGPIPE would end other programs. */
  "reader-gone": 141,
  "hung-up": 129,
  quit: 131,
  interrupted: 130,
  terminated: 143,
} as const satisfies Partial<Record<ErrorCode, number>>;

/** A known failure: the message says what happened, the hint what to do next. Any other thrown error is a bug. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? HINTS[code];
  }

  get exitCode(): number {
    const codes: Partial<Record<ErrorCode, number>> = EXIT_CODES;
    return codes[this.code] ?? 1;
  }
}

/** The errno name (`ENOENT`, `EACCES`…) of a failed system call, or undefined for any other error. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
