import { Command, type CommanderError } from "commander";
import { AppError } from "../lib/errors.ts";
import type { Terminal } from "./terminal.ts";

/** A command whose help reads like a manual page, and whose mistakes are told by `runCli` alone. */
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
      writeErr: (text) => terminal.note(text.trimEnd()), // help that nobody asked for: a command without its verb
      outputError: () => undefined, // told by runCli
    });
  return command;
}

/** Adds examples below the options of a command's help. */
export function withExamples(command: Command, examples: readonly string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${examples.map((line) => `  ${line}`).join("\n")}`);
}

/** A mistake in the words of a command, with the page that says what is right. Help that was asked for is none. */
function toUsageError(error: CommanderError, command: Command): Error {
  if (error.exitCode === 0 || error.code === "commander.help") return error;
  return new AppError("usage-wrong", error.message.replace(/^error: /, ""), {
    hint: `See \`${fullName(command)} --help\`.`,
  });
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}
