/** A path inside an environment. Never resolve it on this machine, even if the same path exists here. */
export type TargetPath = string & { readonly target?: never };

export type OutputStream = "stdout" | "stderr";

/** The part of a session's shell state that is saved: no functions, no aliases, and no value that may be a secret. */
export interface SavedShell {
  /** Undefined means the environment's own start folder. */
  readonly cwd?: TargetPath | undefined;
  /** The target of `cd -`. */
  readonly previousCwd?: TargetPath | undefined;
  /** Exported variables that a fresh shell lacks or has with another value. */
  readonly variables: Readonly<Record<string, string>>;
  /** Variables of a fresh shell that the session has removed. */
  readonly unset: readonly string[];
  /** Names of exported variables whose values may be secrets and were not saved. */
  readonly withheld: readonly string[];
  /** Names of exported variables whose values were too long to save. */
  readonly tooLong: readonly string[];
}

/** The shell state of one session. Sessions of one environment do not affect each other's folder and variables. */
export interface ShellSession {
  /** The folder of the next command; undefined until a command has run. */
  readonly cwd: TargetPath | undefined;
  /** The state that a later process can resume; undefined until a command has run. `redact` hides known secrets. */
  save(redact: (text: string) => string): SavedShell | undefined;
}

export interface CommandRequest {
  readonly command: string;
  readonly session: ShellSession;
  /** The folder to run in instead of the session's own; `~` is the home folder inside the environment. */
  readonly workdir?: TargetPath | undefined;
  readonly timeoutMs: number;
  /** If absent, a command that reads standard input gets end-of-file at once. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Variables for this command only. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Set as HERMES_COMMAND_ID in the command's processes, so that they can be found later; random unless given. */
  readonly mark?: string | undefined;
  /** True once the command was moved to the background: from then on it has no time limit and does not change the session. */
  readonly isDetached?: (() => boolean) | undefined;
  /** Send both streams as stdout, in the order in which they were written. */
  readonly mergeStderr?: boolean;
  /** Receives each chunk as it arrives. A returned promise blocks the command's output until it settles. */
  onOutput(stream: OutputStream, bytes: Uint8Array): void | Promise<void>;
}

/** A process that survived every attempt to end it. */
export interface Survivor {
  readonly pid: number;
  readonly user: number | undefined;
}

export interface CommandResult {
  /**
   * `exited`: the command ended by itself. `timed-out` and `stopped`: we ended it, exit codes 124 and 130. `lost`: the
   * shell that ran the command died. The command was not run again, and whether it finished is unknown.
   */
  readonly ended: "exited" | "timed-out" | "stopped" | "lost";
  /** 126 if the folder does not exist; 125 if `lost`. */
  readonly exitCode: number;
  readonly badWorkdir: boolean;
  /** The session's folder after the command. */
  readonly cwd: TargetPath | undefined;
  /** Processes that could not be ended; report them to the user. Undefined if it is unknown whether any still run. */
  readonly survivors: readonly Survivor[] | undefined;
  /** Complete sentences for the reader of the output. */
  readonly notices: readonly string[];
  readonly durationMs: number;
}

/** Where commands run. Whether disposing also removes the sandbox depends on the kind of environment and the settings. */
export interface Environment extends AsyncDisposable {
  /** Starts from the saved shell, if given. The saved folder may have been deleted since. */
  openSession(saved?: SavedShell): ShellSession;
  /** Opens a shell before the first command, unless a sandbox would have to be created or a host connected to. */
  warm(signal: AbortSignal): Promise<void>;
  /** Resolves however the command ends. Rejects only if the command could not be started or `signal` was already aborted. */
  run(request: CommandRequest, signal: AbortSignal): Promise<CommandResult>;
  /** How many commands are running. */
  readonly runningCommands: number;
  /**
   * This machine outside the local sandbox; absent without one. It runs commands that the user has allowed to leave the
   * sandbox, and our own programs that inspect processes. Disposed with this environment.
   */
  readonly outside?: Environment | undefined;
  /** Explains how the sandbox may have caused an error message, and how to allow the action; undefined if it is unrelated. */
  readonly explainRefusal?: ((message: string) => string | undefined) | undefined;
}
