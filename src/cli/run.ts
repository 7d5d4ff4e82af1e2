import { setMaxListeners } from "node:events";
import { CommanderError } from "commander";
import { AppError, messageOf } from "../lib/errors.ts";
import { type CommandContext, createContext } from "./context.ts";
import { takeGlobalFlags } from "./global-flags.ts";
import { createTerminal, type Terminal, type TerminalStreams } from "./terminal.ts";

/** Runs one command line and resolves to its exit code; whatever goes wrong is told here, once. */
export async function runCli(
  argv: readonly string[],
  streams: TerminalStreams & NodeJS.Process,
): Promise<number> {
  const terminal = createTerminal(streams);
  // A reader that leaves early (`hermes … | head`) is not a failure of ours.
  streams.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  const interruption = new AbortController();
  setMaxListeners(0, interruption.signal); // everything that waits listens to it
  const interrupt = (): void => {
    if (interruption.signal.aborted) process.exit(130);
    interruption.abort(new AppError("interrupted", "Interrupted."));
  };
  streams.on("SIGINT", interrupt);
  streams.on("SIGTERM", interrupt);
  try {
    const flags = await takeGlobalFlags(argv);
    await using context = createContext(flags, terminal, streams.env, interruption.signal);
    await runCommand(context).catch(async (error: unknown) => {
      await recordBug(error, context);
      throw error;
    });
    return context.exitCode;
  } catch (error) {
    return tell(
      interruption.signal.aborted ? interruption.signal.reason : error,
      terminal,
      argv.includes("--json"),
    );
  } finally {
    streams.off("SIGINT", interrupt);
    streams.off("SIGTERM", interrupt);
  }
}

async function runCommand(context: CommandContext): Promise<void> {
  const { COMMANDS } = await import("./command-table.ts");
  const { terminal } = context;
  const [name, ...rest] = context.flags.words;
  if (name === "--version" || name === "-V") {
    const { VERSION } = await import("../version.ts");
    return terminal.print(`hermes ${VERSION}`);
  }
  if (name === undefined || name === "--help" || name === "-h" || (name === "help" && rest.length === 0)) {
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
  await build(context).parseAsync(words, { from: "user" });
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

function tell(error: unknown, terminal: Terminal, asJson: boolean): number {
  if (error instanceof CommanderError) return tellUsage(error, terminal, asJson);
  const known = error instanceof AppError ? error : undefined;
  const message = known ? known.message : `Something is wrong inside Hermes: ${messageOf(error)}`;
  const hint = known?.hint ?? "Run it again; if it stays, report it with the lines below.";
  if (asJson) terminal.note(JSON.stringify({ error: { code: known?.code ?? "internal", message, hint } }));
  else terminal.note(`hermes: ${message}\n  ${hint}`);
  if (!known && error instanceof Error && !asJson) terminal.note(error.stack ?? "");
  return known?.exitCode ?? 1;
}

function tellUsage(error: CommanderError, terminal: Terminal, asJson: boolean): number {
  if (error.exitCode === 0) return 0;
  if (error.code === "commander.help") return 2;
  return tell(new AppError("usage-wrong", error.message.replace(/^error: /, "")), terminal, asJson);
}
