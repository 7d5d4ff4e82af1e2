import type { Check, CheckInput, Finding } from "./check.ts";
import { checkBoards, checkProfiles, checkSessions } from "./check-databases.ts";
import { checkConfig, checkDisk, checkHome } from "./check-home.ts";
import { checkFallbacks, checkKeys } from "./check-keys.ts";
import { checkLocalSandbox } from "./check-local-sandbox.ts";
import { checkModel } from "./check-model.ts";
import { checkDocker, checkPodman, checkSingularity, checkSsh } from "./check-programs.ts";
import { checkNode, checkRuns, checkSqlite } from "./check-runtime.ts";

const CHECKS: readonly Check[] = [
  checkNode,
  checkSqlite,
  checkHome,
  checkConfig,
  checkModel,
  checkKeys,
  checkFallbacks,
  checkProfiles,
  checkDisk,
  checkSessions,
  checkBoards,
  checkRuns,
  checkLocalSandbox,
  checkDocker,
  checkPodman,
  checkSingularity,
  checkSsh,
];

/** Runs all checks of this machine and of one profile. */
export async function runChecks(input: CheckInput): Promise<readonly Finding[]> {
  return (await Promise.all(CHECKS.map((check) => check(input)))).flat();
}
