import { createColors } from "picocolors";
import { build } from "../../src/cli/commands/kanban/kanban.ts";
import { createContext } from "../../src/cli/context.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { AppError } from "../../src/lib/errors.ts";
import { captureStreams } from "./built-program.ts";
import { tempFolder } from "./temp-folder.ts";

export interface CommandOptions {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Called with each piece of output as it is printed. */
  readonly onPrint?: (text: string) => void;
  readonly onNote?: (text: string) => void;
  /** Resolves when the reader of the output has taken what was printed. */
  readonly drained?: () => Promise<void>;
}

/** The result of one command line: its output, and the known failure that it ended with. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly failure: AppError | undefined;
  readonly exitCode: number;
}

/** Runs `hermes kanban` in this process and a temporary home, as the program does but without the cost of a start. */
export async function openKanbanCli() {
  const folder = await tempFolder();
  const home = folder.file("home");
  const contextOf = (words: readonly string[], terminal: Terminal, { env, signal }: CommandOptions) =>
    createContext(
      { profile: undefined, settings: new Map(), words: ["kanban", ...words] },
      terminal,
      captureStreams({
        HOME: folder.path,
        HERMES_HOME: home,
        USER: "alice",
        PATH: process.env["PATH"] ?? "",
        ...env,
      }).streams,
      undefined,
      signal ?? new AbortController().signal,
    );
  async function run(words: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const output = { stdout: "", stderr: "" };
    const print = (text: string): void => {
      output.stdout += text;
      options.onPrint?.(text);
    };
    const terminal: Terminal = {
      print: (text) => print(`${text}\n`),
      write: print,
      draw: print,
      waitForReader: options.drained ?? (async () => undefined),
      status: () => undefined,
      note: (text) => {
        output.stderr += `${text}\n`;
        options.onNote?.(text);
      },
      printJson: (value) => print(`${JSON.stringify(value)}\n`),
      discardTyped: async () => undefined,
      ask: async () => undefined,
      readSecret: async () => "",
      interactive: false,
      columns: options.columns,
      noteColumns: options.columns,
      colours: createColors(false),
    };
    await using context = contextOf(words, terminal, options);
    try {
      await (await build(context)).parseAsync([...words], { from: "user" });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { ...output, failure: error, exitCode: error.exitCode };
    }
    return { ...output, failure: undefined, exitCode: context.exitCode };
  }
  return {
    home,
    folder: folder.path,
    run,
    /** Runs a command that must succeed and returns its output. */
    async ok(words: readonly string[], options?: CommandOptions): Promise<string> {
      const { stdout, failure } = await run(words, options);
      if (failure !== undefined) throw failure;
      return stdout;
    },
    async json<Value>(words: readonly string[], options?: CommandOptions): Promise<Value> {
      return JSON.parse(await this.ok([...words, "--json"], options)) as Value;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
export type KanbanCli = Awaited<ReturnType<typeof openKanbanCli>>;
