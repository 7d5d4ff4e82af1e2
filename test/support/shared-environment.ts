import { afterAll, beforeAll } from "vitest";
import type { Environment } from "../../src/environments/environment.ts";

/**
 * Shares one environment between all tests of a suite that only run commands, each in its own session: opening an environment
 * and a shell takes longer than most of these tests. Closing the returned environment leaves it open for the next test.
 */
export function sharedEnvironment(
  open: () => Environment | Promise<Environment>,
): () => Promise<Environment> {
  let shared: Environment | undefined;
  beforeAll(async () => {
    shared = await open();
  });
  afterAll(() => shared?.[Symbol.asyncDispose]());
  return async () => {
    const environment = shared;
    if (environment === undefined) throw new Error("the environment does not exist before the first test");
    return {
      openSession: (saved) => environment.openSession(saved),
      outside: environment.outside,
      run: (request, signal) => environment.run(request, signal),
      warm: (signal) => environment.warm(signal),
      runningCommands: 0,
      [Symbol.asyncDispose]: async () => undefined,
    };
  };
}
