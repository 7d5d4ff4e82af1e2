import type { Command } from "commander";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { checkConfig, editConfig, setSetting, unsetSetting } from "./config/change.ts";
import { explainSetting, getSetting, listKeys, printPath, printSchema, showConfig } from "./config/show.ts";

/** `hermes config`: every setting, where its value comes from, and how to change it. */
export function build(context: CommandContext): Command {
  const { terminal } = context;
  const config = defineCommand("hermes config", "Show, explain and change settings.", terminal);
  const add = (usage: string, description: string): Command =>
    config
      .addCommand(defineCommand(usage.split(" ")[0] ?? "", description, terminal))
      .commands.at(-1) as Command;

  withExamples(add("path", "Print where config.yaml of this profile is."), [
    "hermes config path",
    "hermes -p work config path",
  ])
    .option("--json", "print JSON")
    .action((options) => printPath(context, options));
  withExamples(add("show", "Show the effective settings and where each comes from."), [
    "hermes config show terminal",
    "hermes config show --all --json",
  ])
    .argument("[section]", "only this section, e.g. terminal")
    .option("--all", "also settings that are at their default")
    .option("--json", "print JSON")
    .action((section, options) => showConfig(context, section, options));
  withExamples(
    add("get", "Print one value.")
      .argument("<key>", "e.g. terminal.timeout, or a path inside a map such as providers.local.base_url")
      .option("--json", "print {key, value, origin}; origin is flag, env, file or default")
      .action((key, options) => getSetting(context, key, options)),
    ["hermes config get terminal.backend", "TERMINAL_ENV=docker hermes config get terminal.backend --json"],
  );
  withExamples(
    add("set", "Set one value in config.yaml; comments and order stay. Secrets go to .env.")
      .argument("<key>", "a setting, or the variable of a provider's key")
      .argument(
        "[value]",
        "text by the key's type; lists and maps as JSON; left out for a secret, which is then asked for",
      )
      .action((key, value) => setSetting(context, key, value)),
    [
      "hermes config set terminal.backend docker",
      `hermes config set terminal.docker_volumes '["/data:/data:ro"]'`,
      "hermes config set ANTHROPIC_API_KEY   # asks, so that it is in no history",
    ],
  );
  withExamples(add("unset", "Remove one value, so that the default holds again."), [
    "hermes config unset terminal.timeout",
  ])
    .argument("<key>")
    .action((key) => unsetSetting(context, key));
  withExamples(add("edit", "Open config.yaml in $VISUAL or $EDITOR; it is checked before it is saved."), [
    "hermes config edit",
    "EDITOR=nano hermes config edit",
  ]).action(() => editConfig(context));
  withExamples(add("check", "Report every problem in config.yaml, .env and the variables."), [
    "hermes config check",
    "hermes config check --json",
  ])
    .option("--json", "print JSON")
    .action((options) => checkConfig(context, options));
  withExamples(add("keys", "List every setting."), ["hermes config keys | grep docker"])
    .option("--json", "print JSON")
    .action((options) => listKeys(context, options));
  withExamples(add("explain", "Show what a setting means and every place that speaks of it."), [
    "hermes config explain terminal.backend",
  ])
    .argument("<key>")
    .option("--json", "print JSON")
    .action((key, options) => explainSetting(context, key, options));
  withExamples(add("schema", "Print the JSON Schema of config.yaml, for editors."), [
    "hermes config schema > hermes.schema.json",
  ])
    .option("--json", "accepted; the schema is JSON in any case")
    .action(() => printSchema(context));
  return withExamples(config, [
    "hermes config show",
    "hermes config set terminal.timeout 300",
    "hermes config explain terminal.backend",
    "hermes config check",
  ]);
}
