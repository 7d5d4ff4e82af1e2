import type { Command } from "commander";
import { findDefaultRoute } from "../../app/conversation.ts";
import { formatProblem } from "../../config/setting-problem.ts";
import { AppError } from "../../lib/errors.ts";
import { VERSION } from "../../version.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { printFields } from "../terminal/table.ts";

export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes status",
    "Show the profile, model and environment in use.",
    context.terminal,
  )
    .option("--json", "print JSON")
    .action((options) => status(context, options));
  return withExamples(command, ["hermes status", "hermes -p work status --json"]);
}

async function status({ terminal, openApp }: CommandContext, { json }: { json?: boolean }): Promise<void> {
  const { profile, resolved } = await openApp();
  const { model, terminal: environment, logging } = resolved.config;
  const route = findDefaultRoute(resolved);
  const found = {
    version: VERSION,
    profile: profile.name,
    home: profile.home,
    config: profile.configPath,
    problems: resolved.problems.length,
    ...(route instanceof AppError
      ? { model: model.default, provider: model.provider, key_from: null, keys: [] }
      : {
          model: route.model,
          provider: route.provider,
          key_from: route.keySource ?? null,
          keys: route.keys.map(({ source }) => source),
        }),
    fallbacks: resolved.config.fallback_providers.map((entry) => `${entry.provider}/${entry.model}`),
    backend: environment.backend,
    local_sandbox: environment.backend === "local" ? environment.local_sandbox : null,
    logs: profile.logsFolder,
    log_level: logging.level,
  };
  if (json) return terminal.printJson(found);
  const more = found.keys.length > 1 ? ` and ${found.keys.length - 1} more` : "";
  const key = found.key_from === null ? "" : `, key from ${found.key_from}${more}`;
  const count = found.problems === 0 ? "" : `: ${found.problems} problem(s), see \`hermes config check\``;
  printFields(terminal, [
    ["version", found.version],
    ["profile", found.profile],
    ["home", found.home],
    [
      "model",
      route instanceof AppError
        ? `none: ${route.message} ${route.hint}`
        : `${route.model} (${route.provider}${key})`,
    ],
    ["fallback", found.fallbacks.join(", then ")],
    ["commands", `run in ${found.backend}${describeSandbox(found.local_sandbox)}`],
    ["logs", `${found.logs} (${found.log_level} and up)`],
    ["config", `${found.config}${count}`],
  ]);
  for (const problem of resolved.problems)
    terminal.note(`hermes: ${formatProblem(problem)}.\n  ${problem.hint}`);
}

function describeSandbox(mode: string | null): string {
  if (mode === null) return "";
  return mode === "off" ? ", without a sandbox" : `, in the sandbox (${mode})`;
}
