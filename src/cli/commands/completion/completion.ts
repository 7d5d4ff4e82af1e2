import { Argument, type Command } from "commander";
import type { CommandContext } from "../../context.ts";
import { defineCommand, withExamples } from "../../define-command.ts";
import { type CommandRow, listCompletions } from "./list-completions.ts";
import { bashScript, fishScript, zshScript } from "./shell-scripts.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };
type Shell = keyof typeof SCRIPTS;

export function build(context: CommandContext, commands: readonly CommandRow[]): Command {
  const { terminal } = context;
  const command = defineCommand(
    "hermes completion",
    "Print a script that completes commands, options and settings in your shell. The script contains all words, so print it again after an update.",
    terminal,
  )
    .addArgument(new Argument("<shell>", "your shell").choices(Object.keys(SCRIPTS)))
    .action(async (shell: Shell) => {
      terminal.print(SCRIPTS[shell](await listCompletions(commands, context)));
    });
  return withExamples(command, [
    "echo 'eval \"$(hermes completion bash)\"' >> ~/.bashrc",
    "echo 'eval \"$(hermes completion zsh)\"' >> ~/.zshrc   # after compinit",
    "hermes completion fish > ~/.config/fish/completions/hermes.fish",
  ]);
}
