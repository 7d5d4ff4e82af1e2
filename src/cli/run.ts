import { setMaxListeners } from "node:events";
import { type Command, CommanderError } from "commander";
import { AppError, type ErrorCode, EXIT_CODES, messageOf } from "../lib/errors.ts";
import type { FirstFrame } from "./chat/window/first-frame.ts";
import { type CommandContext, createContext } from "./context.ts";
import { takeGlobalFlags } from "./global-flags.ts";
import { withProfileFlag } from "./profile-flag.ts";
import { createTerminal, type Terminal, type TerminalStreams } from "./terminal/terminal.ts";

/** The signals that stop a command, with the error that each becomes. */
const SIGNALS = {
  SIGINT: ["interrupted", "Interrupted."],
  SIGTERM: ["terminated", "Terminated."],
  SIGHUP: ["hung-up", "The terminal was closed."],
  SIGQUIT: ["quit", "Quit."],
} as const satisfies Partial<Record<NodeJS.Signals, readonly [ErrorCode, string]>>;

/** `timeout` and shells signal a process and then its process group, so one Ctrl-C may arrive twice. */
const SAME_SIGNAL_MS = 200;

/** Runs one command line and resolves to its exit code. All errors are reported here, once. */
export async function runCli(
  argv: readonly string[],
  streams: TerminalStreams & NodeJS.Process,
  firstFrame?: FirstFrame,
): Promise<number> {
  const terminal = createTerminal(streams);
  const interruption = new AbortController();
  const { signal } = interruption;
  setMaxListeners(0, signal); // every pending operation listens to it
  let lostOutput: AppError | undefined;
  let profile: string | undefined;
  const report = (error: unknown): number => reportError(error, terminal, wantsJson(argv), profile);
  streams.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (signal.aborted) return;
    lostOutput = lossOfOutput(error);
    interruption.abort(lostOutput);
  });
  // A closed stderr or terminal must not stop a command in the middle of its work.
  streams.stderr.on("error", () => undefined);
  streams.stdin.on("error", () => undefined); // the reader of stdin gets the same error
  let interruptedAt = 0;
  const handlers = Object.entries(SIGNALS).map(([name, [code, message]]) => {
    const handle = (): void => {
      if (!signal.aborted) {
        interruptedAt = performance.now();
        interruption.abort(new AppError(code, message));
      } else if (name === "SIGINT" && performance.now() - interruptedAt > SAME_SIGNAL_MS) {
        process.exit(EXIT_CODES.interrupted); // a second Ctrl-C skips the cleanup
      }
    };
    streams.on(name, handle);
    return { name, handle };
  });
  try {
    const flags = await takeGlobalFlags(argv);
    profile = flags.profile;
    await using context = createContext(flags, terminal, streams, firstFrame, signal);
    await runCommand(context).catch(async (error: unknown) => {
      await recordBug(error, context);
      throw error;
    });
    await flushOutput(streams.stdout);
    if (lostOutput !== undefined) {
      const code = report(lostOutput);
      // `sandbox exec` sets its own exit code for failures of Hermes.
      const isOwn = ![0, EXIT_CODES.interrupted].includes(context.exitCode);
      return lostOutput.code === "output-unwritable" && isOwn ? context.exitCode : code;
    }
    // A command that was stopped always sets the code for an interruption; the exit code depends on the signal.
    const wasStopped = signal.aborted && context.exitCode === EXIT_CODES.interrupted;
    return wasStopped ? reasonOf(signal).exitCode : context.exitCode;
  } catch (error) {
    firstFrame?.close();
    return report(signal.aborted && !reportsAbort(error, signal) ? signal.reason : error);
  } finally {
    for (const { name, handle } of handlers) streams.off(name, handle);
  }
}

/** Resolves when the output was flushed or the stream has reported that it cannot be. */
function flushOutput(stdout: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stdout.writableLength === 0) setImmediate(resolve);
    else stdout.write("", () => setImmediate(resolve));
  });
}

/** Whether a command's error reports the abort itself, perhaps with a better hint. */
function reportsAbort(error: unknown, signal: AbortSignal): boolean {
  return error instanceof AppError && error.code === reasonOf(signal).code;
}

function reasonOf(signal: AbortSignal): AppError {
  return signal.reason as AppError; // safe: only runCli aborts this signal
}

/** The error for a failed write to standard output. */
function lossOfOutput({ code, message }: NodeJS.ErrnoException): AppError {
  // A reader that closes the pipe early (`hermes … | head`) is not a failure.
  if (code === "EPIPE") return new AppError("reader-gone", "The reader of the output has closed it.");
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
  // `help` and `version` are not commands of the table; the main page describes them.
  const isMainPage = name === "help" && ["help", "version", "--help", "-h", undefined].includes(rest[0]);
  if (name === "--help" || name === "-h" || isMainPage) {
    const { helpPage } = await import("./help.ts");
    return terminal.print(helpPage(terminal));
  }
  // `hermes -z TASK`, `hermes -c -z TASK`: `chat` is the default command.
  const isTask = name === undefined || name.startsWith("-");
  const wanted = name === "help" ? (rest[0] ?? "") : isTask ? "chat" : name;
  const row = COMMANDS.find((command) => command.name === wanted);
  if (!row) {
    const { unknownVerb } = await import("./unknown-verb.ts");
    const names = COMMANDS.map((command) => command.name);
    throw unknownVerb("hermes", wanted, names);
  }
  const { build } = await row.load();
  const words = name === "help" ? [...rest.slice(1), "--help"] : isTask ? context.flags.words : rest;
  const command = await build(context, COMMANDS);
  await requireVerbs(command, words, name === "help");
  await command.parseAsync(words, { from: "user" });
}

/** Refuses `--help` after an unknown verb, for which commander would print the help of the parent command. */
async function requireVerbs(command: Command, words: readonly string[], isHelp: boolean): Promise<void> {
  if (!words.some((word) => word === "--help" || word === "-h")) return;
  let known = command;
  let path = `hermes ${command.name().replace(/^hermes /, "")}`;
  for (const word of words) {
    if (word.startsWith("-") || (known.commands.length === 0 && !isHelp)) return;
    const next = known.commands.find((verb) => [verb.name(), ...verb.aliases()].includes(word));
    if (next === undefined) {
      const { unknownVerb } = await import("./unknown-verb.ts");
      const names = known.commands.map((verb) => verb.name());
      throw unknownVerb(path, word, names);
    }
    known = next;
    path += ` ${word}`;
  }
}

/** Logs an unexpected error with its stack. The error is printed even if this fails. */
async function recordBug(error: unknown, context: CommandContext): Promise<void> {
  if (error instanceof AppError || error instanceof CommanderError || context.signal.aborted) return;
  try {
    (await context.log()).error("command failed", { error });
  } catch (problem) {
    context.terminal.note(`hermes: the error could not be written to the log: ${messageOf(problem)}`);
  }
}

/** Searches the raw words for --json, because parsing the flags may have failed. */
function wantsJson(argv: readonly string[]): boolean {
  return /(?:^| )--(?:json|output-format[= ](?:json|events))(?: |$)/.test(argv.join(" "));
}

function reportError(
  error: unknown,
  terminal: Terminal,
  asJson: boolean,
  profile: string | undefined,
): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // commander has printed the help
  const known = error instanceof AppError ? error : undefined;
  if (known?.code === "reader-gone") return known.exitCode;
  const message = known ? known.message : `Unexpected error in Hermes: ${messageOf(error)}`;
  const hint = withProfileFlag(
    known?.hint ?? "Run the command again. If the error persists, report it with the lines below.",
    profile,
  );
  if (asJson) terminal.note(JSON.stringify({ error: { code: known?.code ?? "internal", message, hint } }));
  else terminal.note(`hermes: ${message}${hint === "" ? "" : `\n  ${hint}`}`);
  if (!known && error instanceof Error && !asJson) terminal.note(error.stack ?? "");
  return known?.exitCode ?? 1;
}
