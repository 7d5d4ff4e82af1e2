import type { Clock } from "../lib/clock.ts";
import { AppError } from "../lib/errors.ts";
import type { CommandRequest, CommandResult, Environment } from "./environment.ts";

export interface SharedEnvironmentParts {
  /** Called once. */
  open(signal: AbortSignal): Promise<Environment>;
  readonly lifetimeMs: number;
  readonly clock: Clock;
  /** A command has ended. */
  onRun(): void;
  /** Nobody holds it any more, or its last command has ended. */
  onUnused(): void;
}

/** One environment that several hold: opened once, and usable by each until it is given back. */
export interface SharedEnvironment {
  /** Waits until it is open. Disposing the result gives it back; using it afterwards is refused. */
  hold(signal: AbortSignal): Promise<Environment>;
  /** Whether nobody has held it, and nothing has run in it, for as long as it is kept. */
  isOver(): boolean;
  /** Ends what still runs and lets go of the place. Later calls give the same answer. */
  close(): Promise<void>;
}

export function createSharedEnvironment({
  open,
  lifetimeMs,
  clock,
  onRun,
  onUnused,
}: SharedEnvironmentParts): SharedEnvironment {
  const stop = new AbortController();
  const running = new Map<AbortController, Promise<unknown>>();
  let environment: Environment | undefined;
  let holders = 0;
  let usedAt = clock.now();
  let closing: Promise<void> | undefined;
  // It belongs to all who wait, so the signal of one of them must not end it.
  const opening = Promise.resolve()
    .then(() => open(stop.signal))
    .then((opened) => {
      environment = opened;
      return opened;
    });
  const ready = untilAborted(opening, stop.signal);
  ready.catch(() => undefined); // told to each who waits

  function letGo(): void {
    holders--;
    usedAt = clock.now();
    if (holders === 0) onUnused();
  }

  async function run(
    opened: Environment,
    request: CommandRequest,
    signal: AbortSignal,
  ): Promise<CommandResult> {
    signal.throwIfAborted();
    const cut = new AbortController();
    const relay = (): void => cut.abort(signal.reason);
    signal.addEventListener("abort", relay, { once: true });
    const result = opened.run(request, cut.signal);
    running.set(cut, result);
    try {
      const done = await result;
      onRun();
      return done;
    } catch (error) {
      throw stop.signal.aborted && !signal.aborted ? closed() : error;
    } finally {
      signal.removeEventListener("abort", relay);
      running.delete(cut);
      usedAt = clock.now();
      if (holders === 0) onUnused();
    }
  }

  function createHandle(opened: Environment): Environment {
    let isHeld = true;
    const requireUsable = (): void => {
      if (!isHeld || stop.signal.aborted) throw closed();
    };
    return {
      openSession(saved) {
        requireUsable();
        return opened.openSession(saved);
      },
      warm(signal) {
        requireUsable();
        return opened.warm(signal);
      },
      async run(request, signal) {
        requireUsable();
        return run(opened, request, signal);
      },
      get busy() {
        return opened.busy;
      },
      async [Symbol.asyncDispose]() {
        if (!isHeld) return;
        isHeld = false;
        letGo();
      },
    };
  }

  async function end(): Promise<void> {
    stop.abort(closed());
    for (const cut of running.keys()) cut.abort(closed());
    const opened = await opening.catch(() => undefined);
    await Promise.allSettled(running.values());
    await opened?.[Symbol.asyncDispose]();
  }

  return {
    async hold(signal) {
      holders++;
      try {
        const opened = await untilAborted(ready, signal);
        if (stop.signal.aborted) throw closed();
        return createHandle(opened);
      } catch (error) {
        letGo();
        throw error;
      }
    },
    isOver() {
      if (holders > 0 || running.size > 0) return false;
      if (environment === undefined) return true; // it failed, or nobody waits for it any more
      if (environment.busy > 0) usedAt = clock.now();
      return environment.busy === 0 && clock.now() - usedAt >= lifetimeMs;
    },
    close: () => (closing ??= end()),
  };
}

/** What whoever uses a closed environment is told: an empty result would look like success. */
export function closed(): AppError {
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
