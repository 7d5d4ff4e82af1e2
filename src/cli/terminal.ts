import { createInterface } from "node:readline/promises";
import { createColors } from "picocolors";

export type Colours = ReturnType<typeof createColors>;

/** The person's side of a command: what it prints, what it asks, how wide and how colourful. */
export interface Terminal {
  /** Results. Nothing else is ever written to standard output. */
  print(text: string): void;
  /** Notices, warnings, progress, errors. */
  note(text: string): void;
  printJson(value: unknown): void;
  /** Asks a question and waits for one line; undefined when nobody can answer. */
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
  /** A line typed without echo, or the first line of piped input. */
  readSecret(question: string, signal: AbortSignal): Promise<string>;
  readonly interactive: boolean;
  /** Columns of the terminal; undefined in a pipe, where nothing is cut. */
  readonly columns: number | undefined;
  readonly colours: Colours;
}

export interface TerminalStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
}

export function createTerminal({ stdin, stdout, stderr, env }: TerminalStreams): Terminal {
  const interactive = stdin.isTTY === true && stderr.isTTY === true;
  const colourful = stdout.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return {
    interactive,
    columns: stdout.isTTY ? Math.max(40, stdout.columns || 80) : undefined,
    colours: createColors(colourful),
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    printJson: (value) => void stdout.write(`${JSON.stringify(value, undefined, 2)}\n`),
    async ask(question, signal) {
      if (!interactive) return undefined;
      return askLine(question, { stdin, stderr, echo: true }, signal);
    },
    async readSecret(question, signal) {
      if (interactive) return askLine(question, { stdin, stderr, echo: false }, signal);
      return firstLine(stdin);
    },
  };
}

async function askLine(
  question: string,
  { stdin, stderr, echo }: { stdin: NodeJS.ReadStream; stderr: NodeJS.WriteStream; echo: boolean },
  signal: AbortSignal,
): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr, terminal: true });
  try {
    const answer = lines.question(question, { signal });
    // readline echoes through this method; a secret must not appear on the screen.
    if (!echo) Object.assign(lines, { _writeToOutput: () => undefined });
    const line = await answer;
    if (!echo) stderr.write("\n");
    return line;
  } finally {
    lines.close();
  }
}

async function firstLine(stdin: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n[\s\S]*$/, "");
}
