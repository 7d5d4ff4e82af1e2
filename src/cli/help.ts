import { COMMANDS } from "./command-table.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The text of `hermes --help`. */
export function helpPage({ colours }: Terminal): string {
  const width = Math.max(...COMMANDS.map((command) => command.name.length)) + 2;
  const commands = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`);
  return [
    `${colours.bold("hermes")} - a personal AI agent on your own machine`,
    "",
    colours.bold("Usage"),
    "  hermes                                          open the chat",
    '  hermes -z "TASK"                                give the agent a task',
    "  hermes [-p PROFILE] [--SECTION.KEY VALUE] COMMAND [ARGUMENTS]",
    "  hermes help COMMAND",
    "",
    colours.bold("Commands"),
    ...commands,
    "",
    colours.bold("Options, anywhere before --"),
    "  -p, --profile NAME     run as this profile",
    "  --SECTION.KEY VALUE    override a setting, e.g. --terminal.timeout 30; a boolean",
    "                         setting takes true/false, yes/no, on/off or 1/0, and",
    "                         without a value means true",
    "  -h, --help             help for hermes or for a command",
    "  -V, --version          print the version",
    "",
    colours.bold("Examples"),
    "  hermes doctor                                     check this machine",
    '  hermes -z "Which files here are larger than 1 MB?"',
    '  git diff | hermes -z "Review this"',
    "  hermes config set terminal.backend docker",
    "  hermes config explain terminal.timeout",
    "  hermes profile create work && hermes -p work status",
    "",
    colours.bold("Files"),
    "  ~/.hermes/config.yaml  settings; HERMES_HOME names another home",
    "  ~/.hermes/.env         secrets",
    "  ~/.hermes/logs/        log files",
    "",
    colours.bold("Exit codes"),
    "  0 done   1 failed or refused   2 wrong usage   78 bad configuration",
    "  chat only: 3 limit reached   4 answer truncated   5 refused by model",
    "             6 answer does not match the output schema",
    "             7 kept trying what it was not allowed to do",
    "  129 terminal closed   130 interrupted   143 terminated (128 + signal)",
    "  141 the output was closed, as in `hermes … | head`",
  ].join("\n");
}
