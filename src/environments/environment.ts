/** A path inside an environment. It is never looked up on our own machine, even where the two look alike. */
export type TargetPath = string & { readonly target?: never };

export type OutputStream = "stdout" | "stderr";

/** What of a session's shell outlives a process: no functions, no aliases, and no value that may be a secret. */
export interface SavedShell {
  /** Undefined for the folder that the place itself starts in. */
  readonly cwd?: TargetPath | undefined;
  /** Where `cd -` leads. */
  readonly previousCwd?: TargetPath | undefined;
  /** Exported variables that a fresh shell has not, or not with this value. */
  readonly variables: Readonly<Record<string, string>>;
  /** Variables of a fresh shell that the session has removed. */
  readonly unset: readonly string[];
  /** Names of exported variables whose values may be secrets and were not saved. */
  readonly withheld: readonly string[];
  /** Names of exported variables whose values were not saved only because of their size. */
  readonly tooLong: readonly string[];
}

/** The state of one session's shell: two sessions in one environment never move each other. */
export interface ShellSession {
  /** Where the next command starts; undefined until one has run. */
  readonly cwd: TargetPath | undefined;
  /** What the next process can go on with; undefined until a command has run. `redact` hides what it knows as secret. */
  save(redact: (text: string) => string): SavedShell | undefined;
}

export interface CommandRequest {
  readonly command: string;
  readonly session: ShellSession;
  /** Where to run instead of the session's own folder; `~` is the far end's home. */
  readonly workdir?: TargetPath | undefined;
  readonly timeoutMs: number;
  /** Nothing unless given: a command that reads then sees the end at once. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Variables of this command alone. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Names its processes in their environment (HERMES_COMMAND_ID), for whoever looks for them later; random unless given. */
  readonly mark?: string | undefined;
  /** Send both streams as stdout, in the order in which they were written. */
  readonly mergeStderr?: boolean;
  /** Gets each chunk as it comes; while it returns a promise, the command has to wait. */
  onOutput(stream: OutputStream, bytes: Uint8Array): void | Promise<void>;
}

/** A process that outlived every attempt to end it. */
export interface Survivor {
  readonly pid: number;
  readonly user: number | undefined;
}

export interface CommandResult {
  /**
   * `exited`: by itself. `timed-out` and `stopped`: ended by us, exit code 124 and 130. `lost`: the shell between us and
   * the command died; it was not started again, and whether it did its work is unknown.
   */
  readonly ended: "exited" | "timed-out" | "stopped" | "lost";
  /** 126 when the folder does not exist; 125 when lost. */
  readonly exitCode: number;
  readonly badWorkdir: boolean;
  /** Where the session is now. */
  readonly cwd: TargetPath | undefined;
  /** Empty unless something could not be ended; then a person should know. */
  readonly survivors: readonly Survivor[];
  /** What the reader should know besides the output, in sentences. */
  readonly notices: readonly string[];
  readonly durationMs: number;
}

/** A place where commands run. Disposing lets go of it; whether the place itself goes is the lifecycle's rule. */
export interface Environment extends AsyncDisposable {
  /** Begins where a saved shell was, if one is given; its folder may be gone by now, as any session's folder may. */
  openSession(saved?: SavedShell): ShellSession;
  /** Opens a shell ahead of the first command, unless the place would have to be created or connected to for that. */
  warm(signal: AbortSignal): Promise<void>;
  /** Resolves however the command ends. Rejects only when it could not be started at all, or `signal` was aborted before. */
  run(request: CommandRequest, signal: AbortSignal): Promise<CommandResult>;
  /** How many commands run right now. */
  readonly busy: number;
}
