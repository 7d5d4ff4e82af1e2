import type { ShellSession, Survivor, TargetPath } from "../environment.ts";
import type { JobLifetime, JobRecord } from "./job.ts";
import type { WatchHits } from "./watch-state.ts";

export interface StartJob {
  /** Whose folder, variables, functions and aliases the command finds; it stays as it is. */
  readonly session: ShellSession;
  /** The id under which the job is listed, swept and told about. */
  readonly owner: string;
  readonly lifetime: JobLifetime;
  readonly workdir?: TargetPath | undefined;
  /** Variables of this job alone; their values are in no argument and no file. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Whether `write`, `submit` and `close` will be used; else the job sees the end of its input at once. */
  readonly takesInput?: boolean;
  /** Whether it runs on a terminal of its own, which takes input; on a pipe where there is none to be had. */
  readonly pty?: boolean;
  /** Whether the owner is to be told when it ends. */
  readonly notify?: boolean;
  /** Texts in a line of its output that the owner is to be told of; not together with `notify`. */
  readonly watch?: readonly string[];
  /** When to end it at the latest; persistent jobs have no such time unless it is given. */
  readonly maxAgeMs?: number;
}

export type JobStarted =
  | {
      readonly kind: "started";
      readonly job: JobRecord;
      /** Jobs that run the same command in the same folder already: whoever starts may have meant one of them. */
      readonly alike: readonly JobRecord[];
      /** What is not as it was asked for, in sentences. */
      readonly notes: readonly string[];
    }
  /** Nothing of it runs. */
  | { readonly kind: "failed-start"; readonly message: string };

export interface JobStatus {
  readonly job: JobRecord;
  readonly uptimeMs: number;
  /** The end of its output. */
  readonly preview: string;
}

export interface LogPage {
  readonly job: JobRecord;
  readonly text: string;
  /** Number of the first line of the page, from 0. */
  readonly offset: number;
  readonly totalLines: number;
  readonly totalBytes: number;
  /** What was printed but not kept, somewhere in the middle; the page says where. Counts above include it. */
  readonly droppedBytes: number;
  readonly droppedLines: number;
  /** The page was longer than a page may be, and so is not whole. */
  readonly isCut: boolean;
}

/** Output as it was printed. */
export interface OutputPiece {
  readonly job: JobRecord;
  /** The place of the first byte in all that was printed; later than asked for where that is gone. */
  readonly from: number;
  readonly bytes: Buffer;
  readonly totalBytes: number;
}

export type WatchEvent =
  | ({ readonly kind: "hits"; readonly job: JobRecord } & WatchHits)
  /** Nobody watches it any more; the owner is told of its end instead. */
  | { readonly kind: "watch-ended"; readonly job: JobRecord; readonly message: string }
  /** About watching as a whole. */
  | { readonly kind: "notice"; readonly message: string };

/** What the owner of jobs is doing at this moment. */
export type OwnerPhase = "in-turn" | "between-turns" | "gone";

/** `ended`, `no-input`, `closed`: nothing was written. `blocked`: the job does not read, and got a part at most. */
export type InputOutcome = "written" | "ended" | "no-input" | "closed" | "blocked";

export interface KillOutcome {
  readonly kind: "killed" | "already-ended" | "survived";
  readonly job: JobRecord;
  readonly survivors: readonly Survivor[];
}

/** Commands of an environment that nobody waits for. Each id may be the beginning of one, of four hex digits or more. */
export interface Jobs {
  start(command: string, options: StartJob, signal: AbortSignal): Promise<JobStarted>;
  /** All that are known, oldest first, looked at anew. */
  list(signal: AbortSignal): Promise<readonly JobRecord[]>;
  poll(id: string, signal: AbortSignal): Promise<JobStatus>;
  /** Lines of its output, the last ones unless an offset says from where. Having read the end counts as being told. */
  log(id: string, page: { offset?: number; limit?: number }, signal: AbortSignal): Promise<LogPage>;
  /** Output from a byte on, or the last -`from` bytes; not redacted, and so for the person and never for the model. */
  read(id: string, from: number, signal: AbortSignal): Promise<OutputPiece>;
  /** Resolves when it is over, when the time is, or when `signal` is aborted; the job runs on in the last two cases. */
  wait(
    id: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "ended" | "timed-out" | "interrupted"; readonly job: JobRecord }>;
  write(id: string, input: string | Uint8Array, signal: AbortSignal): Promise<InputOutcome>;
  /** Writes a line. */
  submit(id: string, line: string, signal: AbortSignal): Promise<InputOutcome>;
  /** Ends its input; on a terminal by Ctrl-D, after which it can be written to again. */
  close(id: string, signal: AbortSignal): Promise<InputOutcome>;
  /** Gives its terminal another size, and the programs on it a reason to draw anew; without a terminal, nothing. */
  resize(
    id: string,
    size: { readonly rows: number; readonly columns: number },
    signal: AbortSignal,
  ): Promise<void>;
  /** Ends it with all its descendants, those that outlived it too. */
  kill(id: string, signal: AbortSignal): Promise<KillOutcome>;
  /** Ends what must not outlive the owner's turn or session. */
  sweep(owner: string, over: "turn" | "session", signal: AbortSignal): Promise<readonly KillOutcome[]>;
  /**
   * Ends what has outlived its time, whoever has started it: jobs of a turn or session that is over, and those over their
   * age. To be called now and then by whoever knows the owners.
   */
  sweepExpired(phaseOf: (owner: string) => OwnerPhase, signal: AbortSignal): Promise<readonly KillOutcome[]>;
  /**
   * Jobs of the owner that ended and that it has not been told about. Each is given to one caller at a time, in whichever
   * process, and given again to another unless it is confirmed within a minute: a caller may die before it tells.
   */
  takeCompletions(owner: string, signal: AbortSignal): Promise<readonly JobRecord[]>;
  confirmCompletions(ids: readonly string[], signal: AbortSignal): Promise<void>;
  /** What the owner's watched jobs have printed since the last call, in whichever process. */
  takeWatchEvents(owner: string, signal: AbortSignal): Promise<readonly WatchEvent[]>;
}
