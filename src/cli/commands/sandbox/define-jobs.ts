import type { Command } from "commander";
import type { CommandContext } from "../../context.ts";
import { defineCommand, verbsOf, withExamples } from "../../define-command.ts";

const load = () => import("./jobs.ts");
const ID = ["<id>", "job id or id prefix of at least 4 digits"] as const;

export function buildJobs(context: CommandContext, ofTask: (command: Command) => Command): Command {
  const { terminal } = context;
  const jobs = ofTask(defineCommand("jobs", "List and manage background jobs in the sandbox.", terminal))
    .option("--all", "include jobs that have ended")
    .option("--json", "print JSON")
    .action(async (options) => (await load()).listJobs(context, options));
  const add = verbsOf(jobs, terminal, { json: true });
  ofTask(
    add("start", "Start a background job and print its id.", [
      "hermes sandbox jobs start -- make watch",
      "hermes sandbox jobs start --pty -- python3",
    ]),
  )
    .option("--pty", "give it a terminal, for interactive programs")
    .option("--input", "let it read input from `attach`; without this, its input is empty")
    .option("--workdir <folder>", "working directory")
    .argument("<command...>", "command, after --; joined with spaces and passed to the shell")
    .action(async (words, _, command) => (await load()).startJob(context, words, command.optsWithGlobals()));
  ofTask(
    verbsOf(jobs, terminal)("log", "Print the output of a job.", [
      "hermes sandbox jobs log --follow proc_1a2b",
    ]),
  )
    .option("-f, --follow", "follow the output until the job ends")
    .argument(...ID)
    .action(async (id, _, command) => (await load()).printLog(context, id, command.optsWithGlobals()));
  ofTask(add("kill", "Kill a job and all processes that it started.", ["hermes sandbox jobs kill proc_1a2b"]))
    .argument(...ID)
    .action(async (id, _, command) => (await load()).killJob(context, id, command.optsWithGlobals()));
  return withExamples(jobs, [
    "hermes sandbox jobs --all",
    "hermes sandbox jobs log --follow proc_1a2b",
    "hermes sandbox attach proc_1a2b",
  ]);
}
