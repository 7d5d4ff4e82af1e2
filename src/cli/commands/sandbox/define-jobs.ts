import type { Command } from "commander";
import type { CommandContext } from "../../context.ts";
import { defineCommand, withExamples } from "../../define-command.ts";

const load = () => import("./jobs.ts");

/** `hermes sandbox jobs`: commands that run in the sandbox while nobody waits for them. */
export function buildJobs(context: CommandContext, ofTask: (command: Command) => Command): Command {
  const { terminal } = context;
  const jobs = ofTask(defineCommand("jobs", "List the jobs that run in the sandbox.", terminal))
    .option("--all", "also those that are over")
    .option("--json", "print JSON")
    .action(async (options) => (await load()).listJobs(context, options));
  const add = (name: string, description: string): Command => {
    const command = ofTask(defineCommand(name, description, terminal));
    jobs.addCommand(command);
    return command;
  };
  withExamples(
    add("start", "Start a job and print its id.")
      .option("--pty", "on a terminal of its own, for programs that ask")
      .option("--input", "let it read what `attach` sends; without it, its input is empty")
      .option("--workdir <folder>", "where to run it")
      .option("--json", "print JSON")
      .argument("<words...>", "the command, after --; joined with spaces and given to the shell")
      .action(async (words, _, command) =>
        (await load()).startJob(context, words, command.optsWithGlobals()),
      ),
    ["hermes sandbox jobs start -- make watch", "hermes sandbox jobs start --pty -- python3"],
  );
  add("log", "Print all that a job has printed, as far as it is kept.")
    .option("-f, --follow", "go on until it is over")
    .argument("<id>", "its id, or the beginning of it")
    .action(async (id, _, command) => (await load()).printLog(context, id, command.optsWithGlobals()));
  add("kill", "End a job with everything that it has started.")
    .option("--json", "print JSON")
    .argument("<id>", "its id, or the beginning of it")
    .action(async (id, _, command) => (await load()).killJob(context, id, command.optsWithGlobals()));
  return withExamples(jobs, [
    "hermes sandbox jobs --all",
    "hermes sandbox jobs log --follow proc_1a2b",
    "hermes sandbox attach proc_1a2b",
  ]);
}
