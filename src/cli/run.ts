import { setMaxListeners } from "node:events";
import { type Command, CommanderError } from "commander";
import { AppError, ERROR_CODES, type ErrorCode, messageOf } from "../lib/errors.ts";
import { type CommandContext, createContext } from "./context.ts";
import { takeGlobalFlags } from "./global-flags.ts";
import { createTerminal, type Terminal, type TerminalStreams } from "./terminal.ts";

/** What ends a command from outside. Each is handled alike: the command stops, cleans up and says so in its exit code. */
const SIGNALS = {
  SIGINT: ["interrupted", "Interrupted."],
  SIGTERM: ["terminated", "Terminated."],
  SIGHUP: ["hung-up", "The terminal was closed."],
  SIGQUIT: ["quit", "Quit."],
} as const satisfies Partial<Record<NodeJS.Signals, readonly [ErrorCode, string]>>;

/** `timeout` and shells signal a process and then its whole group: the same Ctrl-C may come twice. */
const SAME_SIGNAL_MS = 200;

/** Runs one command line and resolves to its exit code; whatever goes wrong is told here, once. */
export async function runCli(
  argv: readonly string[],
  streams: TerminalStreams & NodeJS.Process,
): Promise<number> {
  const terminal = createTerminal(streams);
  const interruption = new AbortController();
  const { signal } = interruption;
  setMaxListeners(0, signal); // everything that waits listens to it
  let lostOutput: AppError | undefined;
  streams.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (signal.aborted) return;
    lostOutput = lossOfOutput(error);
    interruption.abort(lostOutput);
  });
  // Nobody reads our notices, or the terminal is gone: neither is a reason to leave the work half done.
  streams.stderr.on("error", () => undefined);
  streams.stdin.on("error", () => undefined); // whoever reads it is told as well
  let interruptedAt = 0;
  const handlers = Object.entries(SIGNALS).map(([name, [code, message]]) => {
    const handle = (): void => {
      if (!signal.aborted) {
        interruptedAt = performance.now();
        interruption.abort(new AppError(code, message));
      } else if (name === "SIGINT" && performance.now() - interruptedAt > SAME_SIGNAL_MS) {
        process.exit(ERROR_CODES.interrupted.exit); // somebody does not want to wait for the cleaning up
      }
    };
    streams.on(name, handle);
    return { name, handle };
  });
  try {
    const flags = await takeGlobalFlags(argv);
    await using context = createContext(flags, terminal, streams, signal);
    await runCommand(context).catch(async (error: unknown) => {
      await recordBug(error, context);
      throw error;
    });
    await writtenOut(streams.stdout);
    if (lostOutput !== undefined) throw lostOutput;
    // A command only knows that it was stopped; by what, is known here.
    const wasStopped = signal.aborted && context.exitCode === ERROR_CODES.interrupted.exit;
    return wasStopped ? reasonOf(signal).exitCode : context.exitCode;
  } catch (error) {
    return tell(signal.aborted ? signal.reason : error, terminal, wantsJson(argv));
  } finally {
    for (const { name, handle } of handlers) streams.off(name, handle);
  }
}

/** Resolves when the output was handed over or could not be, which the stream has then reported. */
function writtenOut(stdout: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stdout.writableLength === 0) setImmediate(resolve);
    else stdout.write("", () => setImmediate(resolve));
  });
}

function reasonOf(signal: AbortSignal): AppError {
  return signal.reason as AppError; // nobody else has its controller
}

/** Why nothing can be printed any more. */
function lossOfOutput({ code, message }: NodeJS.ErrnoException): AppError {
  // A reader that leaves early (`hermes … | head`) is not a failure of ours.
  if (code === "EPIPE") return new AppError("reader-gone", "Nobody reads the output any more.");
  if (code === "EIO") return new AppError(...SIGNALS.SIGHUP);
  return new AppError("output-unwritable", `The output cannot be written: ${message}.`);
}

async function runCommand(context: CommandContext): Promise<void> {
  const { COMMANDS } = await import("./command-table.ts");
  const { terminal } = context;
  const [name, ...rest] = context.flags.words;
  if (name === "--version" || name === "-V" || name === "version") {
    const { VERSION } = await import("../version.ts");
    return terminal.print(`hermes ${VERSION}`);
  }
  // What the program does by itself has no page but this one.
  const isOwn = name === "help" && ["help", "version", "--help", "-h", undefined].includes(rest[0]);
  if (name === undefined || name === "--help" || name === "-h" || isOwn) {
    const { helpPage } = await import("./help.ts");
    return terminal.print(helpPage(terminal));
  }
  // `hermes -z TASK`, `hermes -c -z TASK`: the agent is what the program is for, so it needs no name.
  const isTask = name.startsWith("-");
  const wanted = name === "help" ? (rest[0] ?? "") : isTask ? "chat" : name;
  const row = COMMANDS.find((command) => command.name === wanted);
  if (!row)
    throw await unknownCommand(
      wanted,
      COMMANDS.map((command) => command.name),
    );
  const { build } = await row.load();
  const words = name === "help" ? [...rest.slice(1), "--help"] : isTask ? context.flags.words : rest;
  const command = await build(context);
  await requireVerbs(command, words, name === "help");
  await command.parseAsync(words, { from: "user" });
}

/** Help of a verb that does not exist is not that of the command above it. */
async function requireVerbs(command: Command, words: readonly string[], isHelp: boolean): Promise<void> {
  if (!words.some((word) => word === "--help" || word === "-h")) return;
  let known = command;
  let path = `hermes ${command.name().replace(/^hermes /, "")}`;
  for (const word of words) {
    if (word.startsWith("-") || (known.commands.length === 0 && !isHelp)) return;
    const next = known.commands.find((verb) => [verb.name(), ...verb.aliases()].includes(word));
    if (next === undefined) {
      const { unknownVerb } = await import("./unknown-verb.ts");
      throw unknownVerb(
        path,
        word,
        known.commands.map((verb) => verb.name()),
      );
    }
    known = next;
    path += ` ${word}`;
  }
}

async function unknownCommand(wanted: string, names: readonly string[]): Promise<AppError> {
  const { closest } = await import("../lib/did-you-mean.ts");
  const near = closest(wanted, names);
  return new AppError(
    "usage-wrong",
    `unknown command '${wanted}'`,
    near ? { hint: `Did you mean \`hermes ${near}\`?` } : {},
  );
}

/** What nobody foresaw goes to the log with its stack; if even that fails, the person has been told anyway. */
async function recordBug(error: unknown, context: CommandContext): Promise<void> {
  if (error instanceof AppError || error instanceof CommanderError || context.signal.aborted) return;
  try {
    (await context.log()).error("command failed", { error });
  } catch (problem) {
    context.terminal.note(`hermes: this could not be written to the log: ${messageOf(problem)}`);
  }
}

/** Read before the flags are, because they may be what is wrong. */
function wantsJson(argv: readonly string[]): boolean {
  return /(?:^| )--(?:json|output-format[= ](?:json|events))(?: |$)/.test(argv.join(" "));
}

function tell(error: unknown, terminal: Terminal, asJson: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // its help is the answer
  const known = error instanceof AppError ? error : undefined;
  if (known?.code === "reader-gone") return known.exitCode;
  const message = known ? known.message : `Something is wrong inside Hermes: ${messageOf(error)}`;
  const hint = known?.hint ?? "Run it again; if it stays, report it with the lines below.";
  if (asJson) terminal.note(JSON.stringify({ error: { code: known?.code ?? "internal", message, hint } }));
  else terminal.note(`hermes: ${message}\n  ${hint}`);
  if (!known && error instanceof Error && !asJson) terminal.note(error.stack ?? "");
  return known?.exitCode ?? 1;
}
