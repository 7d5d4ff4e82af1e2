import { systemClock } from "../../lib/time/clock.ts";
import type { Environment } from "../environment.ts";
import type { TemporaryFiles } from "../environment-request.ts";
import { createFileSync } from "./file-sync.ts";

const REMOVE_TIMEOUT_MS = 5_000;

/** The same environment with copies of host files, updated before each command and removed when it is disposed. */
export function withTemporaryFiles(environment: Environment, { owner, list }: TemporaryFiles): Environment {
  const notices: string[] = [];
  let isClosed = false;
  const sync = createFileSync({
    environment,
    owner,
    list: async (signal) => (isClosed ? { files: [], problems: [] } : list(signal)),
    onWarning: (notice) => void notices.push(notice),
    clock: systemClock,
    everyMs: 0, // a file that was just announced must exist for the next command
  });
  let hasRun = false;
  return {
    openSession: environment.openSession,
    warm: environment.warm,
    async run(request, signal) {
      hasRun = true;
      await sync.beforeCommand(signal);
      const result = await environment.run(request, signal);
      return { ...result, notices: [...notices.splice(0), ...result.notices] };
    },
    get runningCommands() {
      return environment.runningCommands;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      // An unreachable host keeps the files; the next worker of the same task replaces them.
      if (hasRun) await sync.beforeCommand(AbortSignal.timeout(REMOVE_TIMEOUT_MS)).catch(() => undefined);
      await environment[Symbol.asyncDispose]();
    },
  };
}
