import { type Command, InvalidArgumentError, Option } from "commander";
import { type ReasoningEffort, readEffort } from "../../providers/provider.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { type RunOptions, runOnce } from "./chat/run-once.ts";

const EFFORTS = "none, minimal, low, medium, high, xhigh, max or ultra";

/** `hermes chat -q TASK` and `hermes -z TASK`: one message, its answer, and out. */
export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes chat",
    "Give the agent a task and wait for its answer.",
    context.terminal,
  )
    .argument("[input]", "- waits for piped input until it ends", parseInput)
    .option("-z, --oneshot <text>", "the task; prints nothing but the answer, for scripts", parseTask)
    .option("-q, --query <text>", "the task; shows what happens on the way", parseTask)
    .option("--query-file <file>", "read the task from a file; - is standard input")
    .option("--image <file>", "a picture that belongs to the task; repeatable", collect)
    .option("-c, --continue [title]", "go on with the latest session, or with the one of this title")
    .option(
      "-r, --resume <session>",
      "go on with a session: its id, the beginning of it, its title, or latest",
    )
    .option("--no-session", "keep no session of this run; its log has no contents")
    .option("-m, --model <model>", "the model, as NAME or PROVIDER:NAME")
    .option("--provider <name>", "the provider of the model")
    .option("--reasoning <level>", `how hard the model should think: ${EFFORTS}`, parseEffort)
    .option("--toolsets <names>", "offer only these groups of tools, separated by commas", parseNames)
    .option("--append-system-prompt <text>", "instructions below those that the agent always has")
    .option("--max-turns <number>", "requests to the model at most", parseCount)
    .option("--run-budget <seconds>", "seconds at most", parseAmount)
    .option(
      "--max-cost <dollars>",
      "US dollars at most; refused when the price of the model is not known",
      parseAmount,
    )
    .option("--usage-file <file>", "write tokens and cost to a file, as JSON")
    .option("--output-schema <file>", "make the answer JSON that matches this JSON Schema")
    .option("-o, --output-last-message <file>", "write the answer to a file as well")
    .addOption(
      new Option(
        "--output-format <format>",
        "text; json: one object with answer, usage and cost; events: a line of JSON for each",
      ).choices(["text", "json", "events"]),
    )
    .option("--json", "the same as --output-format events")
    .addOption(new Option("--worker-pipe <descriptor>").argParser(parseCount).hideHelp())
    .action((input: "-" | undefined, options: RunOptions & { readonly workerPipe?: number }) =>
      run(context, input, options),
    )
    .addHelpText(
      "after",
      "\nPiped input is added to the task. A pipe that somebody else keeps open without\nsending anything is not waited for, unless you add -.\nExit code: 0 answered, 3 a limit was reached, 4 the answer was cut, 5 it was\nrefused, 6 it does not match the output schema, 128+N ended by signal N, 141 the\nreader of the output left and the turn was stopped, 78 bad configuration, 1 else.",
    );
  return withExamples(command, [
    'hermes -z "Which files here are larger than 1 MB?"',
    'git diff | hermes -z "Review this"',
    'hermes -c -z "And now fix it"',
    'hermes chat -q "Run the tests" --max-cost 0.50',
    'hermes -z "Which licences are used here?" --output-schema licences.json',
    'hermes -z "What is wrong on this page?" --image page.png --toolsets file',
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

function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value];
}

function parseNames(text: string): string[] {
  return text.split(",").map((name) => name.trim());
}

/** Nobody wants a model to be asked `--help`. */
function parseTask(text: string): string {
  if (text === "-h" || text === "--help")
    throw new InvalidArgumentError("Give the task, in quotes, or call hermes chat --help.");
  return text;
}

function parseInput(text: string): "-" {
  if (text === "-") return text;
  throw new InvalidArgumentError('Write the task after -z or -q, in quotes: hermes -z "TASK".');
}

function parseEffort(text: string): ReasoningEffort {
  const effort = readEffort(text);
  if (effort === undefined) throw new InvalidArgumentError(`Give ${EFFORTS}.`);
  return effort;
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
