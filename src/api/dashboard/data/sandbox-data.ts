import type {
  ReclaimAnswer,
  SandboxActionAnswer,
  SandboxList,
  SandboxLoad,
  ShownSandbox,
  Snapshot,
} from "../../contract/machines/sandboxes.ts";

/** A sandbox by its profile and name. */
export interface SandboxPlace {
  readonly profile: string;
  readonly name: string;
}

/** What ends with an action: the ids of everything that a person agreed to end. */
export type AgreedEnds = readonly string[];

/**
 * The sandboxes of all profiles of a home. Changes go on when the page that asked for them is closed. Every call throws
 * `profile-not-found`, and all but `list` throw if the engine cannot be reached.
 */
export interface SandboxData {
  /** The answer of the engine is reused for a few seconds. */
  list(profile: string, signal: AbortSignal): Promise<SandboxList>;
  show(place: SandboxPlace, signal: AbortSignal): Promise<ShownSandbox>;
  snapshots(profile: string, signal: AbortSignal): Promise<readonly Snapshot[]>;
  /** Like all actions with `ends`, throws `sandbox_changed` if something else would end too. */
  stop(place: SandboxPlace, ends: AgreedEnds): Promise<SandboxActionAnswer>;
  remove(place: SandboxPlace, ends: AgreedEnds): Promise<SandboxActionAnswer>;
  /** Replaces a sandbox that was created with other settings. Its files are saved as a snapshot. */
  replace(place: SandboxPlace, ends: AgreedEnds): Promise<SandboxActionAnswer>;
  takeSnapshot(place: SandboxPlace, name: string | undefined): Promise<SandboxActionAnswer>;
  /** Creates the sandbox of another task with the same files. */
  fork(place: SandboxPlace, task: string): Promise<SandboxActionAnswer>;
  forkSnapshot(profile: string, snapshot: string, task: string): Promise<SandboxActionAnswer>;
  restore(
    profile: string,
    snapshot: string,
    to: { readonly task: string; readonly ends: AgreedEnds },
  ): Promise<SandboxActionAnswer>;
  startJob(
    place: SandboxPlace,
    job: { readonly command: string; readonly terminal: boolean },
  ): Promise<SandboxActionAnswer>;
  killJob(place: SandboxPlace, job: string): Promise<SandboxActionAnswer>;
  reclaim(
    profile: string,
    run: { readonly dryRun: boolean; readonly agreed: readonly string[] },
  ): Promise<ReclaimAnswer>;
  /** Watches the containers of the engine. */
  watch(profile: string, signal: AbortSignal): Promise<SandboxWatch>;
  /** Measures the running sandboxes of a profile until it is disposed. `onFailure` is called at most once. */
  measure(
    profile: string,
    on: { sample(load: SandboxLoad): void; failure(error: unknown): void },
    signal: AbortSignal,
  ): Promise<AsyncDisposable>;
}

export interface SandboxWatch extends AsyncDisposable {
  /** Resolves after the next change of a container, or after `atMostMs`. */
  next(atMostMs: number, signal: AbortSignal): Promise<void>;
}
