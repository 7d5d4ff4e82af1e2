/** The built-in classes of commands that need an answer, with descriptions. */
export const COMMAND_CLASSES = {
  "recursive-removal": "removes folders with everything in them",
  "bulk-removal": "removes all files that a search, a list or a pattern selects",
  "system-destruction":
    "destroys the system, a disk or a home, or stops the machine, from inside another program",
  "git-work-loss": "discards uncommitted changes, stashes or untracked files",
  "git-history-loss": "removes branches, commits or the log that could restore them",
  "git-force-push": "overwrites or removes branches of a remote repository",
  privileged: "runs with the rights of another user, usually root",
  "open-permissions": "lets every user change files, or changes the owner of whole folders",
  "system-settings": "changes users, mounts, the network or the kernel of the machine",
  "system-file-write": "changes files that belong to the system",
  "startup-file-write": "changes files that a shell or the desktop runs at its start",
  "credential-write": "changes keys, passwords or tokens",
  "env-file-write": "changes a .env file",
  "agent-settings-write": "changes the settings or secrets of Hermes",
  "credential-access": "reads private keys, passwords or tokens",
  "data-upload": "sends personal files or the environment to another machine",
  "remote-shell": "gives another machine a shell on this one",
  "remote-code": "runs code that it downloads",
  "decoded-code": "runs code that is decoded or generated at run time",
  "injected-code": "makes programs load code that their command does not name, such as with LD_PRELOAD",
  "unknown-program": "runs a program whose name is computed at run time",
  "cloud-metadata": "contacts the cloud's metadata service, which hands out credentials",
  "service-control": "stops, restarts or disables services",
  "scheduled-task": "makes something run later or at every start",
  "process-kill": "kills processes that a pattern selects",
  "agent-control": "stops, restarts or updates Hermes itself",
  "nested-agent": "starts another agent, which follows its own rules",
  "sandbox-exit": "runs outside the local sandbox, with all of your rights",
  "trace-removal": "removes logs or the history of commands",
  "database-destruction": "drops, empties or overwrites tables or databases",
  "container-control": "stops or removes containers, images or volumes",
  "container-escape": "gives a container access to the whole machine",
  publish: "publishes packages, releases or images",
  deploy: "changes infrastructure, clusters or cloud resources",
  "disk-write": "writes disks or disk images, or makes files unrecoverable",
  "windows-destruction": "removes files, disks or settings of Windows, or runs hidden PowerShell",
} as const;

export type CommandClass = keyof typeof COMMAND_CLASSES;

/** The result of a rule that recognises an invocation. */
export interface Match {
  readonly class: CommandClass;
  /** The end of a sentence whose subject is the command: "removes src and everything in it". */
  readonly effect: string;
  /** The state of files in which the command loses nothing and therefore needs no answer. */
  readonly harmlessIf?: HarmlessState | undefined;
}

/** `clean-tree`: git has nothing uncommitted in the folder. `missing`: the file does not exist yet. `ignored`: git ignores it. */
export interface HarmlessState {
  readonly state: "clean-tree" | "missing" | "ignored";
  readonly paths: readonly string[];
}

/** The facts about the shell that runs a command. */
export interface CommandFacts {
  readonly home: string | undefined;
  /** The absolute working folder of the shell. */
  readonly cwd: string;
  /** The home of the profile, with the settings and secrets of Hermes. */
  readonly hermesHome: string;
  /** The content of a file that an earlier call of the session has written, by its absolute path. */
  readonly contentOf?: ((path: string) => string | undefined) | undefined;
}
