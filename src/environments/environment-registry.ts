import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import type { Environment } from "./environment.ts";
import { createEnvironmentOverrides, type EnvironmentOverrides } from "./environment-overrides.ts";
import type { EnvironmentRequest } from "./environment-request.ts";
import { type EnvironmentClaim, type EnvironmentScope, scopeOf } from "./environment-scope.ts";
import { createSessionFolders } from "./session-folders.ts";
import {
  closed,
  createSharedEnvironment,
  type EnvironmentHandle,
  type SharedEnvironment,
} from "./shared-environment.ts";

const SHORTEST_CHECK_MS = 1_000;
const LONGEST_CHECK_MS = 60_000;
const TEARDOWN_MS = 15_000;

/** Work to be done once in a process, before the first environment of a kind is opened for a profile. */
export interface FirstOpen {
  /** Whether the settings ask for it; when they do not, it stays to be done. */
  isWanted(request: EnvironmentRequest): boolean;
  /** A failure is told and then forgotten: it must not cost anybody an environment. */
  run(request: EnvironmentRequest, signal: AbortSignal): Promise<void>;
}

export interface EnvironmentRegistryParts {
  open(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment>;
  readonly firstOpen?: FirstOpen;
  /** Hears what went wrong where nobody waits for an answer. */
  onError(what: string, error: unknown): void;
  /** Its sleeps should not keep the process alive. */
  readonly clock?: Clock;
  /** How long closing waits for each environment. */
  readonly teardownMs?: number;
}

/** The environments of a process: each is opened once for all who share it, and closed when nobody uses it any more. */
export interface EnvironmentRegistry extends AsyncDisposable {
  /** While a handle is held its environment stays, whatever else happens in between. */
  acquire(claim: EnvironmentClaim, signal: AbortSignal): Promise<EnvironmentHandle>;
  /** The session is over: its own environment is closed as soon as nobody uses it, without waiting for its lifetime. */
  endSession(owner: { readonly home: string; readonly session: string }): void;
  readonly overrides: EnvironmentOverrides;
}

/** The machine's clock, without keeping the process alive. */
const backgroundClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal, ref: false }),
};

interface Entry {
  /** Let go because the process ends, which is no end of a session: another process may go on with it. */
  endsWithProcess: boolean;
  /** Undefined unless it serves one session alone. */
  readonly session: string | undefined;
  readonly request: EnvironmentRequest;
  readonly lifetimeMs: number;
  readonly shared: SharedEnvironment;
}

export function createEnvironmentRegistry({
  open,
  firstOpen,
  onError,
  clock = backgroundClock,
  teardownMs = TEARDOWN_MS,
}: EnvironmentRegistryParts): EnvironmentRegistry {
  const entries = new Map<string, Entry>();
  const firstOpens = new Map<string, Promise<void>>();
  /** Also those that the reaper began: a process must not end before them. */
  const teardowns = new Map<Promise<void>, Entry>();
  const overrides = createEnvironmentOverrides();
  const folders = createSessionFolders(overrides);
  const stop = new AbortController();
  let isReaping = false;
  let closing: Promise<void> | undefined;

  function enter({ key, request, session, isPassing }: EnvironmentScope): Entry {
    const lifetimeMs = request.options.lifetime_seconds * 1_000;
    const entry: Entry = {
      endsWithProcess: false,
      session,
      request,
      lifetimeMs,
      shared: createSharedEnvironment({
        lifetimeMs,
        clock,
        async open(signal) {
          await prepare(request);
          signal.throwIfAborted();
          return open({ ...request, mayRemove: () => isPassing && !entry.endsWithProcess }, signal);
        },
        onUnused: () => {
          if (entry.shared.isOver()) retire(key, entry);
        },
      }),
    };
    entries.set(key, entry);
    void reap().catch((error) => onError("Unused environments are not closed any more.", error));
    return entry;
  }

  function prepare(request: EnvironmentRequest): Promise<void> {
    if (!firstOpen?.isWanted(request)) return Promise.resolve();
    const key = JSON.stringify([request.profile.home, request.options.backend]);
    const begun = firstOpens.get(key);
    if (begun !== undefined) return begun;
    const { backend } = request.options;
    const work = Promise.resolve()
      .then(() => firstOpen.run(request, stop.signal))
      .catch((error) => onError(`Work before the first ${backend} environment failed.`, error));
    firstOpens.set(key, work);
    return work;
  }

  /** Off the list at once, so that nobody gets it any more; closed meanwhile. */
  function retire(key: string, entry: Entry): void {
    if (entries.get(key) !== entry) return;
    entries.delete(key);
    const teardown: Promise<void> = entry.shared
      .close()
      .catch((error) => onError(`The environment ${entry.request.task} could not be closed.`, error))
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

  async function within(teardown: Promise<void>, { request }: Entry): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), teardownMs);
    });
    const outcome = await Promise.race([teardown, late]);
    clearTimeout(timer);
    if (outcome !== "late") return;
    onError(
      `The environment ${request.task} is left behind.`,
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
  }

  return {
    overrides,
    async acquire(claim, signal) {
      signal.throwIfAborted();
      if (stop.signal.aborted) throw closed();
      const scope = scopeOf(claim, overrides);
      const { options } = scope;
      const entry = entries.get(scope.key) ?? enter(scope);
      const chooseFolder = folders.chooser(claim.request, entry.request);
      return entry.shared.hold({ options, chooseFolder }, signal);
    },
    endSession({ home, session }) {
      for (const [key, entry] of entries) {
        if (entry.session !== session || entry.request.profile.home !== home) continue;
        entry.shared.expire();
        if (entry.shared.isOver()) retire(key, entry);
      }
    },
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}
