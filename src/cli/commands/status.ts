import type { Command } from "commander";
import type { LoadedConfig } from "../../config/load.ts";
import { problemLine } from "../../config/problem.ts";
import { AppError } from "../../lib/errors.ts";
import { type Route, resolveRoute } from "../../providers/resolve-route.ts";
import { VERSION } from "../../version.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";

/** `hermes status`: what a command started now would use. */
export function build(context: CommandContext): Command {
  const command = defineCommand("hermes status", "Show what Hermes would use right now.", context.terminal)
    .option("--json", "print JSON")
    .action((options) => status(context, options));
  return withExamples(command, ["hermes status", "hermes -p work status --json"]);
}

/** The way to the model of a task that names none, or why there is none. */
function findRoute({ config, variable }: LoadedConfig): Route | AppError {
  try {
    return resolveRoute(config, {}, variable);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

async function status({ terminal, openApp }: CommandContext, { json }: { json?: boolean }): Promise<void> {
  const { profile, resolved } = await openApp();
  const { model, terminal: environment, logging } = resolved.config;
  const route = findRoute(resolved);
  const found = {
    version: VERSION,
    profile: profile.name,
    home: profile.home,
    config: profile.configPath,
    problems: resolved.problems.length,
    ...(route instanceof AppError
      ? { model: model.default, provider: model.provider, key_from: null }
      : { model: route.model, provider: route.provider, key_from: route.keySource ?? null }),
    backend: environment.backend,
    logs: profile.logsFolder,
    log_level: logging.level,
  };
  if (json) return terminal.printJson(found);
  const rows: [string, string][] = [
    ["version", found.version],
    ["profile", found.profile],
    ["home", found.home],
    [
      "model",
      route instanceof AppError
        ? `none: ${route.message} ${route.hint}`
        : `${route.model} (${route.provider}${route.keySource ? `, key from ${route.keySource}` : ""})`,
    ],
    ["commands", `run in ${found.backend}`],
    ["logs", `${found.logs} (${found.log_level} and up)`],
    [
      "config",
      found.problems === 0
        ? found.config
        : `${found.config}: ${found.problems} problem(s), see \`hermes config check\``,
    ],
  ];
  for (const [label, value] of rows) terminal.print(`${label.padEnd(10)}${value}`);
  for (const problem of resolved.problems)
    terminal.note(`hermes: ${problemLine(problem)}.\n  ${problem.hint}`);
}
