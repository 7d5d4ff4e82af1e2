import type { RunResult } from "./run-views.ts";

/** The exit code of a single run, by its outcome. Errors have the exit codes of `lib/errors.ts`. */
export const RUN_EXIT_CODES: { readonly [Outcome in RunResult["outcome"]]: number } = {
  completed: 0,
  failed: 1,
  budget: 3,
  cut: 4,
  refused: 5,
  denied: 7,
  unfit: 6,
  stopped: 130,
};
