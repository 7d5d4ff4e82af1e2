import type { App } from "../app.ts";
import { requireUsable } from "../config/load.ts";
import { problemLine } from "../config/problem.ts";
import type { CommandContext } from "./context.ts";

const SHOWN = 3;

/** How a program starts: settings that it cannot run with stop it, those it can live with are told once. */
export async function startApp({ openApp, terminal }: CommandContext): Promise<App> {
  const app = await openApp();
  requireUsable(app.resolved);
  const { problems } = app.resolved;
  for (const problem of problems.slice(0, SHOWN)) {
    terminal.note(`hermes: warning: ${problemLine(problem)}. ${problem.hint}`);
  }
  if (problems.length > SHOWN) {
    terminal.note(`hermes: warning: ${problems.length - SHOWN} more; see \`hermes config check\`.`);
  }
  return app;
}
