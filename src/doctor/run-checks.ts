import type { Check, CheckInput, Finding } from "./check.ts";
import { checkBoards, checkProfiles, checkSessions } from "./data.ts";
import { checkConfig, checkDisk, checkHome } from "./home.ts";
import { checkFallbacks, checkKeys } from "./keys.ts";
import { checkLocalSandbox } from "./local-sandbox.ts";
import { checkModel } from "./model.ts";
import { checkDocker, checkPodman, checkSingularity, checkSsh } from "./programs.ts";
import { checkNode, checkRuns, checkSqlite } from "./runtime.ts";

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

/** Checks this machine and one profile; every finding is one line for a person. */
export async function runChecks(input: CheckInput): Promise<readonly Finding[]> {
  return (await Promise.all(CHECKS.map((check) => check(input)))).flat();
}
