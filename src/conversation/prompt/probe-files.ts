import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { runProcess } from "../../lib/process/process.ts";
import { searchPathOutside } from "../../lib/process/search-path.ts";
import type { FileProbe } from "../../policy/harmless-findings.ts";

/** If git takes longer, the repository counts as changed, so that a person is asked. */
const TIMEOUT_MS = 3_000;
/** Disables hooks and monitors, which are programs that the agent may have configured. */
const SETTINGS = ["--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

/**
 * Checks the state of files on this machine, to find out whether a call would lose something; in doubt, it would.
 * `trustsRepositories` is false if commands run in a sandbox: the probe runs outside of it, git runs the filters that a repository
 * configures, and a command may have created that repository.
 */
export function createFileProbe(
  variables: Readonly<Record<string, string | undefined>>,
  { trustsRepositories }: { readonly trustsRepositories: boolean },
): FileProbe {
  const kept = Object.fromEntries(Object.entries(variables).filter(([name]) => !name.startsWith("GIT_")));

  async function git(cwd: string, args: readonly string[], signal: AbortSignal) {
    const env = { ...kept, PATH: await searchPathOutside(cwd, variables["PATH"]) };
    try {
      return await runProcess(["git", ...SETTINGS, ...args], { cwd, env, timeoutMs: TIMEOUT_MS }, signal);
    } catch (error) {
      if (error instanceof AppError) return undefined; // git is not installed, or the folder does not exist
      throw error;
    }
  }

  return async ({ state, paths }, signal) => {
    const [first = "/"] = paths;
    switch (state) {
      case "missing":
        return paths.every((path) => !existsSync(path));
      case "clean-tree": {
        if (!trustsRepositories) return false;
        // Explicit, because the settings of a repository can hide untracked files and submodules.
        const all = ["--untracked-files=normal", "--ignore-submodules=none"];
        const result = await git(first, ["status", "--porcelain", ...all], signal);
        return result?.exitCode === 0 && !result.timedOut && result.stdout === "";
      }
      case "ignored": {
        const result = await git(dirname(first), ["check-ignore", "--no-index", "--", ...paths], signal);
        const tracked = await git(dirname(first), ["ls-files", "--", ...paths], signal);
        const ignored = result?.stdout.split("\n").filter((line) => line !== "").length;
        return result?.exitCode === 0 && ignored === paths.length && tracked?.stdout === "";
      }
    }
  };
}
