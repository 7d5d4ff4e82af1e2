import { systemClock } from "../../lib/clock.ts";
import type { Environment } from "../environment.ts";
import type { LentFiles } from "../environment-request.ts";
import { createFileSync } from "./file-sync.ts";

const RETURN_WITHIN_MS = 5_000;

/** The same environment with files of this machine in it, which are up to date before each command and gone at the end. */
export function lendFiles(environment: Environment, { owner, list }: LentFiles): Environment {
  const notices: string[] = [];
  let isOver = false;
  const sync = createFileSync({
    environment,
    owner,
    list: async (signal) => (isOver ? { files: [], problems: [] } : list(signal)),
    onWarning: (notice) => void notices.push(notice),
    clock: systemClock,
    everyMs: 0, // a file that was just told of must be there
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
    get busy() {
      return environment.busy;
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      // A host that is out of reach keeps them; the next worker of the same task replaces them.
      if (hasRun) await sync.beforeCommand(AbortSignal.timeout(RETURN_WITHIN_MS)).catch(() => undefined);
      await environment[Symbol.asyncDispose]();
    },
  };
}
