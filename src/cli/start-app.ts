import { chmod, stat } from "node:fs/promises";
import type { App } from "../app.ts";
import { requireUsable } from "../config/load.ts";
import { problemLine } from "../config/problem.ts";
import type { CommandContext } from "./context.ts";

const SHOWN = 3;

/** Takes everybody else's rights to a file of secrets away; true when somebody had any. */
async function closeToOthers(path: string): Promise<boolean> {
  try {
    if (((await stat(path)).mode & 0o077) === 0) return false;
    await chmod(path, 0o600);
    return true;
  } catch {
    return false; // there is none, or it is not ours; doctor says so
  }
}

/** How a program starts: settings that it cannot run with stop it, those it can live with are told once. */
export async function startApp({ openApp, terminal }: CommandContext): Promise<App> {
  const app = await openApp();
  requireUsable(app.resolved);
  if (await closeToOthers(app.profile.envPath))
    terminal.note(`hermes: ${app.profile.envPath} could be read by others; from now on only you can.`);
  // What nobody obeys may be what somebody relies on (`approvals.deny`): it is never among those left out below.
  const unbuilt = app.resolved.problems.filter(({ kind }) => kind === "unbuilt-key");
  const problems = app.resolved.problems.filter(({ kind }) => kind !== "unbuilt-key");
  if (unbuilt.length > 0) {
    const names = [...new Set(unbuilt.map(({ key }) => key))].join(", ");
    terminal.note(
      `hermes: warning: nothing obeys these settings yet: ${names}. See where they stand with \`hermes config check\`.`,
    );
  }
  for (const problem of problems.slice(0, SHOWN)) {
    terminal.note(`hermes: warning: ${problemLine(problem)}. ${problem.hint}`);
  }
  if (problems.length > SHOWN) {
    terminal.note(`hermes: warning: ${problems.length - SHOWN} more; see \`hermes config check\`.`);
  }
  return app;
}
