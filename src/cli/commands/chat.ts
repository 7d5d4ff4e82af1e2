import { type Command, InvalidArgumentError, Option } from "commander";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { type RunOptions, runOnce } from "./chat/run-once.ts";

/** `hermes chat -q TASK` and `hermes -z TASK`: one message, its answer, and out. */
export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes chat",
    "Give the agent a task and wait for its answer.",
    context.terminal,
  )
    .argument("[input]", "- waits for piped input until it ends", parseInput)
    .option("-z, --oneshot <text>", "the task; prints nothing but the answer, for scripts")
    .option("-q, --query <text>", "the task; shows what happens on the way")
    .option("--query-file <file>", "read the task from a file; - is standard input")
    .option("-c, --continue [title]", "go on with the latest session, or with the one of this title")
    .option(
      "-r, --resume <session>",
      "go on with a session: its id, the beginning of it, its title, or latest",
    )
    .option("-m, --model <model>", "the model, as NAME or PROVIDER:NAME")
    .option("--max-turns <number>", "requests to the model at most", parseCount)
    .option("--run-budget <seconds>", "seconds at most", parseAmount)
    .option("--max-cost <dollars>", "US dollars at most, as far as prices are known", parseAmount)
    .option("--usage-file <file>", "write tokens and cost to a file, as JSON")
    .option("--json", "print every event as a line of JSON")
    .addOption(new Option("--worker-pipe <descriptor>").argParser(parseCount).hideHelp())
    .action((input: "-" | undefined, options: RunOptions & { readonly workerPipe?: number }) =>
      run(context, input, options),
    )
    .addHelpText(
      "after",
      "\nPiped input is added to the task. A pipe that somebody else keeps open without\nsending anything is not waited for, unless you add -.\nExit code: 0 answered, 3 a limit was reached, 128+N ended by signal N,\n141 the reader of the output left and the turn was stopped, 1 else.",
    );
  return withExamples(command, [
    'hermes -z "Which files here are larger than 1 MB?"',
    'git diff | hermes -z "Review this"',
    'hermes -c -z "And now fix it"',
    'hermes chat -q "Run the tests" --max-cost 0.50',
  ]);
}

/** A worker of the board is a chat too, but with its supervisor. */
async function run(
  context: CommandContext,
  input: "-" | undefined,
  { workerPipe, ...options }: RunOptions & { readonly workerPipe?: number },
): Promise<void> {
  if (workerPipe === undefined) return runOnce(context, input, options);
  const { runWorker } = await import("./chat/run-worker.ts");
  return runWorker(context, { ...options, workerPipe });
}

function parseInput(text: string): "-" {
  if (text === "-") return text;
  throw new InvalidArgumentError('Write the task after -z or -q, in quotes: hermes -z "TASK".');
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1)
    throw new InvalidArgumentError("Give a whole number of at least 1.");
  return count;
}

function parseAmount(text: string): number {
  const amount = Number(text);
  if (!(amount > 0 && amount < Infinity)) throw new InvalidArgumentError("Give a number greater than 0.");
  return amount;
}
