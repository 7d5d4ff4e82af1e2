import { type Command, InvalidArgumentError, Option } from "commander";
import { AppError, type ErrorCode } from "../../../lib/errors.ts";
import { findEffort, type ReasoningEffort } from "../../../providers/provider.ts";
import type { CommandContext } from "../../context.ts";
import { defineCommand, withExamples } from "../../define-command.ts";
import { collect, parseCount } from "../../parse-option.ts";
import { missingTask } from "./read-task.ts";
import { type RunOptions, runOnce } from "./run-once.ts";

interface ChatOptions extends RunOptions {
  /** Set by the supervisor of a board's task: this process is the worker. */
  readonly workerPipe?: number;
}

const EFFORTS = "none, minimal, low, medium, high, xhigh, max or ultra";

/** `hermes chat -q TASK` and `hermes -z TASK` send one message, print the answer and exit; without a task, the chat opens. */
export function build(context: CommandContext, commands: readonly { readonly name: string }[]): Command {
  const command = defineCommand(
    "hermes chat",
    "Give the agent a task and wait for its answer.",
    context.terminal,
  );
  const isOption = (text: string): boolean => {
    const name = text.replace(/=.*/s, "");
    return (
      ["-h", "--help"].includes(name) ||
      command.options.some(({ short, long }) => [short, long].includes(name))
    );
  };
  const parseTask = (flag: string) => (text: string, earlier: string | undefined) => {
    if (earlier !== undefined) throw new InvalidArgumentError("More than one task was given.");
    if (!isOption(text)) return text;
    throw new AppError("usage-wrong", `${text} is an option, not a task.`, {
      hint: `Write the task directly after ${flag}, as in \`hermes ${flag} "TASK" ${text}\`; see \`hermes chat --help\`.`,
    });
  };
  const parseInput = (text: string): "-" => {
    if (text === "-") return text;
    if (commands.some(({ name }) => name === text))
      throw new AppError("usage-wrong", `The options before the command ${text} are options of the chat.`, {
        hint: `Write the options of ${text} after it; see \`hermes ${text} --help\`.`,
      });
    throw new InvalidArgumentError('Give the task with -z or -q, in quotes: hermes -z "TASK".');
  };
  command
    .argument("[input]", "use - to wait for the end of piped input", parseInput)
    .option("-z, --oneshot <text>", "run this task and print only the answer, for scripts", parseTask("-z"))
    .option("-q, --query <text>", "run this task and show progress", parseTask("-q"))
    .option("--query-file <file>", "read the task from a file (use - for standard input)")
    .option("--image <file>", "attach an image, from a file or an address, to the task (repeatable)", collect)
    .option("-c, --continue [title]", "resume the latest session, or the one with this title")
    .option("-r, --resume <session>", "resume a session by id, id prefix or title, or latest")
    .option("--in <folder>", "with -c: resume the latest session of this folder")
    .option("--no-session", "do not save a session, and log no message contents")
    .option("-m, --model <model>", "model to use, as NAME or PROVIDER:NAME")
    .option("--provider <name>", "provider of the model")
    .option("--reasoning <level>", `reasoning effort: ${EFFORTS}`, parseEffort)
    .option("--toolsets <names>", "comma-separated toolsets to offer; all others are disabled", parseNames)
    .option("--append-system-prompt <text>", "append instructions to the system prompt")
    .option("--no-context", "do not read SOUL.md and the project's AGENTS.md or similar files")
    .option("--plan", "change nothing: read, search and answer with a plan")
    .option("--screen-reader", "chat in whole lines that are never redrawn, for screen readers")
    .option("--yolo", "ask nothing; calls that are always refused stay refused")
    .option("--max-turns <number>", "maximum number of requests to the model", parseCount)
    .option("--run-budget <seconds>", "maximum duration in seconds", parseAmount)
    .option(
      "--max-cost <dollars>",
      "maximum cost in US dollars; requires a model with a known price; models on this machine or its network cost nothing",
      parseAmount,
    )
    .option("--usage-file <file>", "write token usage and cost to a JSON file")
    .option("--output-schema <file>", "require an answer that matches this JSON Schema")
    .option("-o, --output-last-message <file>", "also write the answer to a file")
    .addOption(
      new Option(
        "--output-format <format>",
        "json prints one object with answer, usage and cost; events prints one JSON line per event",
      ).choices(["text", "json", "events"]),
    )
    .option("--json", "shorthand for --output-format events")
    .addOption(new Option("--worker-pipe <descriptor>").argParser(parseCount).hideHelp())
    .action(async (input: "-" | undefined, { workerPipe, ...options }: ChatOptions) => {
      if (workerPipe === undefined && !hasTask(input, options)) {
        if (!canChat(context)) throw missingTask(); // before anything is opened
        return startChat(context, options);
      }
      if (workerPipe === undefined) return runOnce(context, input, options);
      const { runWorker } = await import("./run-worker.ts");
      return runWorker(context, { ...options, workerPipe });
    })
    .addHelpText(
      "after",
      "\nIn a task, @file:PATH:1-20, @PATH, @folder:PATH, @diff, @staged, @git:3 and\n@url:ADDRESS add what they name; \\@ keeps the text as it is.\nPiped input is added to the task. A silent pipe that only the calling program\nholds open is ignored; add - to wait for it. Any other pipe is read to its end.\nExit codes: 0 answered, 1 failed, 3 limit reached, 4 answer truncated, 5 refused\nby the model, 6 answer does not match the output schema, 7 the model kept trying\nwhat it was not allowed to do, 78 bad configuration,\n128+N ended by signal N, 141 the output was closed and the turn was stopped.",
    );
  return withExamples(command, [
    'hermes -z "Which files here are larger than 1 MB?"',
    'git diff | hermes -z "Review this"',
    'hermes -c -z "And now fix it"',
    'hermes chat -q "Run the tests" --max-cost 0.50',
    'hermes chat -q "Tidy up the build scripts" --plan',
    'hermes -z "Explain @src/main.ts and review @diff"',
    'hermes -z "Which licences are used here?" --output-schema licences.json',
    'hermes -z "What is wrong on this page?" --image page.png --toolsets file',
  ]);
}

function hasTask(input: "-" | undefined, { oneshot, query, queryFile }: RunOptions): boolean {
  return [oneshot, query, queryFile, input].some((one) => one !== undefined);
}

/** Whether there is a terminal to type in and to draw on. */
function canChat({ streams: { stdin, stdout } }: CommandContext): boolean {
  return stdin.isTTY === true && stdout.isTTY === true;
}

/** Opens the chat. If no model is set up, it first asks for one. */
async function startChat(context: CommandContext, options: RunOptions): Promise<void> {
  const { runInteractiveChat } = await import("../../chat/run-chat.ts");
  try {
    return await runInteractiveChat(context, options);
  } catch (error) {
    if (!isModelMissing(error, options) || !context.terminal.interactive) throw error;
    const { runSetup } = await import("../setup/run-setup.ts");
    if (await runSetup(context, { onlyModel: true })) await runInteractiveChat(context, options);
  }
}

/** Opens the chat if there is a terminal for it. */
export async function openChatIfPossible(context: CommandContext): Promise<void> {
  if (canChat(context)) await startChat(context, {});
}

const MISSING_MODEL: ReadonlySet<string> = new Set([
  "provider-key-missing",
  "provider-incomplete",
  "model-unnamed",
] satisfies ErrorCode[]);

/** Whether no model is configured, as opposed to a model or session that the user named and that cannot be used. */
function isModelMissing(error: unknown, { model, provider, continue: latest, resume }: RunOptions): boolean {
  const isNamed = [model, provider, latest, resume].some((one) => one !== undefined);
  return !isNamed && error instanceof AppError && MISSING_MODEL.has(error.code);
}

function parseNames(text: string): string[] {
  return text.split(",").map((name) => name.trim());
}

function parseEffort(text: string): ReasoningEffort {
  const effort = findEffort(text);
  if (effort === undefined) throw new InvalidArgumentError(`Give ${EFFORTS}.`);
  return effort;
}

function parseAmount(text: string): number {
  const amount = Number(text);
  if (!(amount > 0 && amount < Infinity)) throw new InvalidArgumentError("Give a number greater than 0.");
  return amount;
}
