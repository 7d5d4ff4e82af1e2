import type { Command } from "commander";
import type { CommandContext, JsonOption } from "../../context.ts";
import { defineCommand, verbsOf, withExamples } from "../../define-command.ts";
import { unknownVerb } from "../../unknown-verb.ts";
import { addFavourite, removeFavourite } from "./favourite.ts";
import { listModels } from "./list.ts";
import { pickModel } from "./pick.ts";
import { refreshModelData } from "./refresh.ts";
import { setModel } from "./set.ts";
import { showModel } from "./show.ts";
import { testModel } from "./test.ts";

const NAME = "model, as NAME or PROVIDER:NAME";
const PROVIDER = ["--provider <name>", "provider of the model"] as const;

/** Whether to open the model picker: for `hermes model` without a verb, at a terminal. */
function isPicker(
  { terminal, streams }: CommandContext,
  verb: readonly string[],
  { json }: JsonOption,
): boolean {
  return terminal.interactive && streams.stdout.isTTY === true && !json && verb.length === 0;
}

export function build(context: CommandContext): Command {
  const { terminal } = context;
  const model = defineCommand("hermes model", "Show, list, choose and test models.", terminal);
  const add = verbsOf(model, terminal, { json: true });
  const show = defineCommand(
    "show",
    "Show the current model. `hermes model` without a verb lets you choose one at a terminal; elsewhere it shows the current one.",
    terminal,
  )
    .option("--json", "print JSON")
    .allowExcessArguments()
    .action((options, command: Command) => {
      const [word] = command.args;
      const verbs = model.commands.map((verb) => verb.name());
      if (word !== undefined) throw unknownVerb("hermes model", word, verbs);
      return isPicker(context, model.args, options) ? pickModel(context) : showModel(context, options);
    });
  model.addCommand(withExamples(show, ["hermes model", "hermes model --json"]), { isDefault: true });
  add("list", "List the models that you can use.", [
    "hermes model list",
    "hermes model list sonnet",
    "hermes model list --provider openrouter --refresh",
    "hermes model list --all --json",
  ])
    .argument("[filter...]", "only models whose name or provider contains all these words")
    .option("--provider <name>", "only models of this provider")
    .option("--refresh", "ask the servers, even if a recent list is stored")
    .option("--all", "include models of providers without a key, and show long lists in full")
    .action((words, options) => listModels(context, words, options));
  add("set", "Make a model the default of this profile.", [
    "hermes model set anthropic:claude-sonnet-4-5",
    "hermes model set qwen3:8b --provider custom",
  ])
    .argument("<name>", NAME)
    .option(...PROVIDER)
    .action((name, options) => setModel(context, name, options));
  add("test", "Send one short request and show the time, tokens and cost of its answer.", [
    "hermes model test",
    "hermes model test openrouter:qwen/qwen3-coder",
  ])
    .argument("[name]", `${NAME} (default: the current model)`)
    .option(...PROVIDER)
    .action((name, options) => testModel(context, name, options));
  const favourite = defineCommand("favourite", "Choose the models that the list shows first.", terminal);
  const addToFavourites = verbsOf(favourite, terminal, { json: true });
  addToFavourites("add", "Add a model to the favourites.", [
    "hermes model favourite add gemini:gemini-2.5-pro",
  ])
    .argument("<name>", NAME)
    .action((name, options) => addFavourite(context, name, options));
  addToFavourites("remove", "Remove a model from the favourites.", [
    "hermes model favourite remove gemini:gemini-2.5-pro",
  ])
    .argument("<name>", NAME)
    .action((name, options) => removeFavourite(context, name, options));
  const examples = ["add", "remove"].map((verb) => `hermes model favourite ${verb} gemini:gemini-2.5-pro`);
  model.addCommand(withExamples(favourite, examples));
  add("refresh", "Fetch newer prices and windows of well-known models from model_catalog.url.", [
    "hermes model refresh",
  ]).action((options) => refreshModelData(context, options));
  return withExamples(model, [
    "hermes model",
    "hermes model list sonnet",
    "hermes model set anthropic:claude-sonnet-4-5",
    "hermes model test",
  ]);
}
