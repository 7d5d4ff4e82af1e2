import { chmod, stat } from "node:fs/promises";
import type { App } from "../app/app.ts";
import { requireUsable } from "../config/load-config.ts";
import { formatProblem } from "../config/setting-problem.ts";
import type { CommandContext } from "./context.ts";

const SHOWN = 3;

/** Removes the permissions of group and others from a file of secrets. Returns true if there were any. */
async function restrictToOwner(path: string): Promise<boolean> {
  try {
    if (((await stat(path)).mode & 0o077) === 0) return false;
    await chmod(path, 0o600);
    return true;
  } catch {
    return false; // the file does not exist or belongs to another user; doctor reports that
  }
}

/** Opens the app of a command. Throws on settings that are unusable; prints other problems once. */
export async function startApp({
  openApp,
  terminal,
}: Pick<CommandContext, "openApp" | "terminal">): Promise<App> {
  const app = await openApp();
  requireUsable(app.resolved);
  if (await restrictToOwner(app.profile.envPath))
    terminal.note(`hermes: ${app.profile.envPath} was readable by others; its mode is now 600.`);
  // Settings that are not implemented are all listed, because the user may rely on one of them.
  const unimplemented = app.resolved.problems.filter(({ kind }) => kind === "unbuilt-key");
  const problems = app.resolved.problems.filter(({ kind }) => kind !== "unbuilt-key");
  if (unimplemented.length > 0) {
    const names = [...new Set(unimplemented.map(({ key }) => key))].join(", ");
    terminal.note(
      `hermes: warning: these settings are not implemented and are ignored: ${names}. Run \`hermes config check\` to see where they are set.`,
    );
  }
  for (const problem of problems.slice(0, SHOWN)) {
    terminal.note(`hermes: warning: ${formatProblem(problem)}. ${problem.hint}`);
  }
  if (problems.length > SHOWN) {
    terminal.note(`hermes: warning: ${problems.length - SHOWN} more; see \`hermes config check\`.`);
  }
  return app;
}
