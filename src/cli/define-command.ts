import { Command, type CommanderError } from "commander";
import { AppError } from "../lib/errors.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** A command whose help reads like a manual page. Only `runCli` reports its usage errors. */
export function defineCommand(name: string, description: string, terminal: Terminal): Command {
  const command = new Command(name)
    .description(description)
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    .exitOverride((error) => {
      throw toUsageError(error, command);
    })
    .showSuggestionAfterError(true)
    .configureHelp({ helpWidth: Math.min(terminal.columns ?? 80, 100), showGlobalOptions: false })
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()), // the help, if a required verb is missing
      outputError: () => undefined, // runCli reports it
    });
  return command;
}

/** Adds a verb whose help ends with these examples. */
export type AddVerb = (name: string, description: string, examples?: readonly string[]) => Command;

/** Adds verbs to a command; with `json`, each verb takes --json. */
export function verbsOf(parent: Command, terminal: Terminal, { json = false } = {}): AddVerb {
  return (name, description, examples = []) => {
    const verb = withExamples(defineCommand(name, description, terminal), examples);
    if (json) verb.option("--json", "print JSON");
    parent.addCommand(verb);
    return verb;
  };
}

/** Adds examples below the options of a command's help. */
export function withExamples(command: Command, examples: readonly string[]): Command {
  if (examples.length === 0) return command;
  return command.addHelpText("after", `\nExamples:\n${examples.map((line) => `  ${line}`).join("\n")}`);
}

/** Turns an error of commander into a usage error that names the help page. Commander also throws for requested help. */
function toUsageError(error: CommanderError, command: Command): Error {
  if (error.exitCode === 0 || error.code === "commander.help") return error;
  return new AppError("usage-wrong", error.message.replace(/^error: /, ""), {
    hint: `See \`${fullName(command)} --help\`.`,
  });
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}
