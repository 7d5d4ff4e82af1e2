import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import type { Environment } from "./environment.ts";
import { type EnvironmentRequest, SHARED_TASK } from "./environment-request.ts";
import { closed, createSharedEnvironment, type SharedEnvironment } from "./shared-environment.ts";

const SHORTEST_CHECK_MS = 1_000;
const LONGEST_CHECK_MS = 60_000;
const TEARDOWN_MS = 15_000;

export interface EnvironmentRegistryParts {
  open(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment>;
  /**
   * Looks after what earlier processes abandoned. Called once for each profile and backend, when the first command has
   * run; the end of the process waits for it. A failure is reported and costs nobody an environment.
   */
  lookAfter(request: EnvironmentRequest): Promise<void>;
  /** Hears what went wrong where nobody waits for an answer. */
  onError(what: string, error: unknown): void;
  /** Its sleeps should not keep the process alive. */
  readonly clock?: Clock;
  /** How long closing waits for each environment. */
  readonly teardownMs?: number;
}

/** The environments of a process: each is opened once for all who share it, and closed when nobody uses it any more. */
export interface EnvironmentRegistry extends AsyncDisposable {
  /**
   * The environment of that name and those settings. It stays open until its last holder has disposed what this returns
   * and `lifetime_seconds` have passed since.
   */
  acquire(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment>;
}

/** The machine's clock, without keeping the process alive. */
const backgroundClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal, ref: false }),
};

interface Entry {
  /** Let go because the process ends, which is no end of a session: another process may go on with it. */
  endsWithProcess: boolean;
  readonly task: string;
  readonly lifetimeMs: number;
  readonly shared: SharedEnvironment;
}

export function createEnvironmentRegistry({
  open,
  lookAfter,
  onError,
  clock = backgroundClock,
  teardownMs = TEARDOWN_MS,
}: EnvironmentRegistryParts): EnvironmentRegistry {
  const entries = new Map<string, Entry>();
  const lookedAfter = new Map<string, Promise<void>>();
  /** Also those that the reaper began: a process must not end before them. */
  const teardowns = new Map<Promise<void>, Entry>();
  const stop = new AbortController();
  let isReaping = false;
  let closing: Promise<void> | undefined;

  function enter(key: string, request: EnvironmentRequest): Entry {
    const { task, options } = request;
    // Nobody but one session or task has files there, and they vanish with it: unused, there is nothing to keep.
    const isEphemeral = task !== SHARED_TASK && !options.container_persistent;
    const lifetimeMs = options.lifetime_seconds * 1_000;
    const entry: Entry = {
      endsWithProcess: false,
      task,
      lifetimeMs,
      shared: createSharedEnvironment({
        lifetimeMs,
        clock,
        open: (signal) =>
          open({ ...request, mayRemove: () => isEphemeral && !entry.endsWithProcess }, signal),
        onRun: () => lookAfterOnce(request),
        onUnused: () => {
          if (entry.shared.isOver()) retire(key, entry);
        },
      }),
    };
    entries.set(key, entry);
    void reap().catch((error) => onError("Unused environments are not closed any more.", error));
    return entry;
  }

  function lookAfterOnce(request: EnvironmentRequest): void {
    const key = JSON.stringify([request.profile.home, request.options.backend]);
    if (lookedAfter.has(key)) return;
    const work = lookAfter(request).catch((error: unknown) =>
      onError("Abandoned sandboxes were not looked for.", error),
    );
    lookedAfter.set(key, work);
  }

  /** Off the list at once, so that nobody gets it any more; closed meanwhile. */
  function retire(key: string, entry: Entry): void {
    if (entries.get(key) !== entry) return;
    entries.delete(key);
    const teardown: Promise<void> = entry.shared
      .close()
      .catch((error) => onError(`The environment ${entry.task} could not be closed.`, error))
      .finally(() => teardowns.delete(teardown));
    teardowns.set(teardown, entry);
  }

  async function reap(): Promise<void> {
    if (isReaping) return;
    isReaping = true;
    try {
      while (entries.size > 0) {
        const shortest = Math.min(...[...entries.values()].map(({ lifetimeMs }) => lifetimeMs));
        const checkMs = Math.max(SHORTEST_CHECK_MS, Math.min(LONGEST_CHECK_MS, shortest));
        await clock.sleep(checkMs, stop.signal);
        for (const [key, entry] of entries) if (entry.shared.isOver()) retire(key, entry);
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    } finally {
      isReaping = false;
    }
  }

  async function within(teardown: Promise<void>, { task }: Entry): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), teardownMs);
    });
    const outcome = await Promise.race([teardown, late]);
    clearTimeout(timer);
    if (outcome !== "late") return;
    onError(
      `The environment ${task} is left behind.`,
      new Error(`it was not closed within ${teardownMs / 1_000} s`),
    );
  }

  async function close(): Promise<void> {
    stop.abort(closed());
    for (const [key, entry] of entries) {
      entry.endsWithProcess = true;
      retire(key, entry);
    }
    await Promise.allSettled([...teardowns].map(([teardown, entry]) => within(teardown, entry)));
    await Promise.all(lookedAfter.values());
  }

  return {
    async acquire(request, signal) {
      signal.throwIfAborted();
      if (stop.signal.aborted) throw closed();
      const { profile, task, cwd, options } = request;
      const key = JSON.stringify([profile.home, task, cwd, options]);
      const entry = entries.get(key) ?? enter(key, request);
      return entry.shared.hold(signal);
    },
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}
