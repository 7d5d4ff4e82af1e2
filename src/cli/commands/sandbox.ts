import { type Command, InvalidArgumentError } from "commander";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { execInSandbox } from "./sandbox/exec.ts";
import { explainSandbox, listAll, showStatus } from "./sandbox/look.ts";
import { collectGarbage, openShell, removeOne, stopOne } from "./sandbox/manage.ts";

/** `hermes sandbox`: the place where commands run, by hand. */
export function build(context: CommandContext): Command {
  const { terminal } = context;
  const sandbox = defineCommand("hermes sandbox", "Run commands in the sandbox and look after it.", terminal);
  const add = (name: string, description: string): Command => {
    const command = defineCommand(name, description, terminal);
    sandbox.addCommand(command);
    return command;
  };
  const ofTask = (command: Command): Command =>
    command.option("--task <name>", "the task whose sandbox is meant", "default");

  withExamples(
    ofTask(add("exec", "Run a command; its output, exit code and input are passed through."))
      .option("--timeout <seconds>", "end it after this long (default: terminal.timeout)", parseSeconds)
      .option("--workdir <folder>", "where to run it")
      .argument("<words...>", "the command, after --; joined with spaces and given to the shell, as ssh does")
      .addHelpText(
        "after",
        "\nExit code: that of the command; 124 when it timed out, 125 when we failed ourselves.",
      )
      .action((words, options) => execInSandbox(context, words, options)),
    [
      "hermes sandbox exec -- uname -a",
      "hermes sandbox exec --timeout 10 -- 'make test | tail'",
      "tar c . | hermes sandbox exec -- tar x -C /workspace",
    ],
  );
  ofTask(add("shell", "Open an interactive shell in the sandbox.")).action((options) =>
    openShell(context, options),
  );
  add("list", "List the sandboxes of this profile.")
    .option("--all-profiles", "also those of other profiles")
    .option("--size", "also how much disk they use, which takes longer")
    .option("--json", "print JSON")
    .action((options) => listAll(context, options));
  ofTask(add("status", "Show whether the sandbox runs, who holds it and whether it matches the settings."))
    .option("--json", "print JSON")
    .action((options) => showStatus(context, options));
  ofTask(add("explain", "Say who can see what: user, capabilities, writable mounts, network, limits."))
    .option("--json", "print JSON")
    .action((options) => explainSandbox(context, options));
  ofTask(add("stop", "Stop the sandbox; its files stay."))
    .option("--force", "also while somebody uses it")
    .option("--json", "print JSON")
    .action((options) => stopOne(context, options));
  ofTask(add("rm", "Remove the sandbox; files that are kept on the host stay."))
    .option("--force", "also while somebody uses it")
    .option("--json", "print JSON")
    .action((options) => removeOne(context, options));
  withExamples(
    add("gc", "Reclaim sandboxes that nobody uses any more, by the rules of the settings.")
      .option("--dry-run", "only say what would be done")
      .option("--all-profiles", "also those of other profiles")
      .option("--json", "print JSON")
      .action((options) => collectGarbage(context, options)),
    ["hermes sandbox gc --dry-run", "hermes sandbox gc --all-profiles --json"],
  );
  return withExamples(sandbox, [
    "hermes sandbox exec -- ls -la",
    "hermes sandbox list",
    "hermes sandbox explain",
  ]);
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0)) throw new InvalidArgumentError("Give a number of seconds greater than 0.");
  return seconds;
}
