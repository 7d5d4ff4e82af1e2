import { AppError } from "../lib/errors.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { CommandRequest, Environment } from "./environment.ts";

export interface SharedEnvironmentParts {
  /** Called once. */
  open(signal: AbortSignal): Promise<Environment>;
  readonly lifetimeMs: number;
  readonly clock: Clock;
  /** Called after each command. */
  onRun(): void;
  /** Called when the last handle was disposed, and after each command that ends without a handle left. */
  onUnused(): void;
}

export type SharedEnvironment = ReturnType<typeof createSharedEnvironment>;

/** One environment with several holders. It is opened once; a holder may use it until the holder disposes its handle. */
export function createSharedEnvironment({
  open,
  lifetimeMs,
  clock,
  onRun,
  onUnused,
}: SharedEnvironmentParts) {
  const stop = new AbortController();
  const running = new Map<AbortController, Promise<unknown>>();
  let environment: Environment | undefined;
  let holders = 0;
  let usedAt = clock.now();
  let closing: Promise<void> | undefined;
  // All holders share the opening, so the signal of a single holder must not abort it.
  const opening = Promise.resolve()
    .then(() => open(stop.signal))
    .then((opened) => {
      environment = opened;
      return opened;
    });
  const ready = untilAborted(opening, stop.signal);
  ready.catch(() => undefined); // each holder gets the error from `hold`

  function release(): void {
    holders--;
    usedAt = clock.now();
    if (holders === 0) onUnused();
  }

  async function run(opened: Environment, request: CommandRequest, signal: AbortSignal) {
    signal.throwIfAborted();
    const controller = new AbortController();
    const relay = (): void => controller.abort(signal.reason);
    signal.addEventListener("abort", relay, { once: true });
    const result = opened.run(request, controller.signal);
    running.set(controller, result);
    try {
      const done = await result;
      onRun();
      return done;
    } catch (error) {
      throw stop.signal.aborted && !signal.aborted ? createClosedError() : error;
    } finally {
      signal.removeEventListener("abort", relay);
      running.delete(controller);
      usedAt = clock.now();
      if (holders === 0) onUnused();
    }
  }

  function createHandle(opened: Environment): Environment {
    let isHeld = true;
    const requireUsable = (): void => {
      if (!isHeld || stop.signal.aborted) throw createClosedError();
    };
    const share = (shared: Environment): Environment => ({
      openSession(saved) {
        requireUsable();
        return shared.openSession(saved);
      },
      warm(signal) {
        requireUsable();
        return shared.warm(signal);
      },
      async run(request, signal) {
        requireUsable();
        return run(shared, request, signal);
      },
      get runningCommands() {
        return shared.runningCommands;
      },
      explainRefusal: shared.explainRefusal,
      outside: shared.outside && share(shared.outside),
      async [Symbol.asyncDispose]() {
        if (!isHeld) return;
        isHeld = false;
        release();
      },
    });
    return share(opened);
  }

  async function end(): Promise<void> {
    stop.abort(createClosedError());
    for (const controller of running.keys()) controller.abort(createClosedError());
    const opened = await opening.catch(() => undefined);
    await Promise.allSettled(running.values());
    await opened?.[Symbol.asyncDispose]();
  }

  return {
    /** Waits until the environment is open and returns a handle. A disposed handle refuses further use. */
    async openHandle(signal: AbortSignal): Promise<Environment> {
      holders++;
      try {
        const opened = await untilAborted(ready, signal);
        if (stop.signal.aborted) throw createClosedError();
        return createHandle(opened);
      } catch (error) {
        release();
        throw error;
      }
    },
    /** Whether the environment has had no holder and no running command for `lifetimeMs`. */
    isExpired(): boolean {
      if (holders > 0 || running.size > 0) return false;
      if (environment === undefined) return true; // opening failed, or all holders gave up
      if (environment.runningCommands > 0) usedAt = clock.now();
      return environment.runningCommands === 0 && clock.now() - usedAt >= lifetimeMs;
    },
    /** Stops running commands and disposes the environment. Idempotent. */
    close: () => (closing ??= end()),
  };
}

/** The error for any use of a closed environment: an empty result would look like success. */
export function createClosedError(): AppError {
  return new AppError("environment-closed", "The environment is closed.");
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}
