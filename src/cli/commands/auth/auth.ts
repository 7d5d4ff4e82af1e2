import type { Command } from "commander";
import type { CommandContext } from "../../context.ts";
import { defineCommand, verbsOf } from "../../define-command.ts";
import { addKey, listAllKeys, removeKey, testKeys } from "./keys.ts";

export function build(context: CommandContext): Command {
  const { terminal } = context;
  const auth = defineCommand("hermes auth", "Add, list, test and remove keys of model providers.", terminal);
  const add = verbsOf(auth, terminal, { json: true });
  add("add", "Add a key, typed without echo or read from standard input, and test it with one request.", [
    "hermes auth add openai-api",
    "pass show openai | hermes auth add openai-api --no-test",
    "hermes auth add openrouter --model openai/gpt-5",
  ])
    .argument("<provider>", "e.g. openai-api, or a name below `providers`")
    .option("-m, --model <name>", "model for the request that tests the key")
    .option("--no-test", "store the key without a request")
    .action((provider, options) => addKey(context, provider, options));
  add("list", "List the keys with their state.", ["hermes auth list", "hermes auth list openai-api --json"])
    .argument("[provider]", "only the keys of this provider")
    .action((provider, options) => listAllKeys(context, provider, options));
  add("test", "Send one request with each key; the cooldown of a working key ends.", [
    "hermes auth test",
    "hermes auth test openai-api#2",
  ])
    .argument("[key]", "provider, provider#N or variable; default: all keys")
    .option("-m, --model <name>", "model for the request")
    .action((key, options) => testKeys(context, key, options));
  add("remove", "Remove a key from .env.", ["hermes auth remove openai-api#2"])
    .argument("<key>", "provider#N, variable, or a provider with one key")
    .option("-y, --yes", "skip the confirmation")
    .action((key, options) => removeKey(context, key, options));
  return auth.addHelpText("after", KEYS_HELP);
}

const KEYS_HELP = `
The first key of a provider is in its variable, such as OPENAI_API_KEY, and
the others are in OPENAI_API_KEY_2, OPENAI_API_KEY_3 and so on: in the
environment, or in .env of the profile. credential_pool_strategies decides
which one is used.

Examples:
  hermes auth add openai-api
  hermes auth list
  hermes auth test
  hermes auth remove openai-api#2`;
