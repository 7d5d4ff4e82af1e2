import type { Command } from "commander";
import type { CommandContext } from "../../context.ts";
import { defineCommand, verbsOf, withExamples } from "../../define-command.ts";
import { checkConfig, editConfig, setSetting, unsetSetting } from "./edit.ts";
import { explainSetting, getSetting, listKeys, printPath, printSchema, showConfig } from "./show.ts";

export function build(context: CommandContext): Command {
  const { terminal } = context;
  const config = defineCommand("hermes config", "Show, explain and change settings.", terminal);
  const add = verbsOf(config, terminal, { json: true });
  const addPlain = verbsOf(config, terminal);

  add("path", "Print the path of config.yaml.", ["hermes config path", "hermes -p work config path"]).action(
    (options) => printPath(context, options),
  );
  add("show", "Show the effective settings and their origins.", [
    "hermes config show terminal",
    "hermes config show --all --json",
  ])
    .argument("[section]", "only this section, e.g. terminal")
    .option("--all", "include settings with their default value")
    .action((section, options) => showConfig(context, section, options));
  add("get", "Print the value of a setting.", [
    "hermes config get terminal.backend",
    "TERMINAL_ENV=docker hermes config get terminal.backend --json",
  ])
    .argument("<key>", "e.g. terminal.timeout, or a path inside a map such as providers.local.base_url")
    .action((key, options) => getSetting(context, key, options));
  addPlain("set", "Set a value in config.yaml, or a secret in .env; comments and order are kept.", [
    "hermes config set terminal.backend docker",
    `hermes config set terminal.docker_volumes '["/data:/data:ro"]'`,
    "hermes config set ANTHROPIC_API_KEY   # prompts for the key",
  ])
    .argument("<key>", "setting, or the variable of a provider's key")
    .argument("[value]", "new value; lists and maps as JSON; omit it to be prompted for a secret")
    .action((key, value) => setSetting(context, key, value));
  addPlain("unset", "Remove a value; the default applies again.", ["hermes config unset terminal.timeout"])
    .argument("<key>")
    .action((key) => unsetSetting(context, key));
  addPlain("edit", "Edit config.yaml in $VISUAL or $EDITOR; it is checked before it is saved.", [
    "hermes config edit",
    "EDITOR=nano hermes config edit",
  ]).action(() => editConfig(context));
  add("check", "Check config.yaml, .env and environment variables for problems.", [
    "hermes config check",
    "hermes config check --json",
  ]).action((options) => checkConfig(context, options));
  add("keys", "List all settings.", ["hermes config keys | grep docker"]).action((options) =>
    listKeys(context, options),
  );
  add("explain", "Explain a setting and show its value in every layer.", [
    "hermes config explain terminal.backend",
  ])
    .argument("<key>")
    .action((key, options) => explainSetting(context, key, options));
  add("schema", "Print the JSON Schema of config.yaml.", [
    "hermes config schema > hermes.schema.json",
  ]).action(() => printSchema(context));
  return withExamples(config, [
    "hermes config show",
    "hermes config set terminal.timeout 300",
    "hermes config explain terminal.backend",
    "hermes config check",
  ]);
}
