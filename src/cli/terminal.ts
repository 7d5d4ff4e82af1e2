import { once } from "node:events";
import { addAbortSignal } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { createColors } from "picocolors";
import { AppError } from "../lib/errors.ts";
import { escapeControls, escapeForeignControls } from "./escape-controls.ts";
import { cutText } from "./fit-text.ts";

export type Colours = ReturnType<typeof createColors>;

/** The person's side of a command: what it prints, what it asks, how wide and how colourful. */
export interface Terminal {
  /** Results. Nothing else is ever written to standard output. */
  print(text: string): void;
  /** A piece of a result, without an end of line. */
  write(text: string): void;
  /** Waits until whoever reads the results has taken them, so that long ones do not gather in memory. */
  drained(signal: AbortSignal): Promise<void>;
  /** A picture made of nothing but our own words; only here do escape sequences reach a terminal. */
  draw(text: string): void;
  /** Notices, warnings, progress, errors. */
  note(text: string): void;
  printJson(value: unknown): void;
  /** A line on the terminal that whatever is written next replaces; nothing where notices do not go to a terminal. */
  status(text: string): void;
  /** Asks a question and waits for one line; undefined when nobody can answer. */
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
  /** A line typed without echo, or the first line of piped input. */
  readSecret(question: string, signal: AbortSignal): Promise<string>;
  readonly interactive: boolean;
  /** Columns of the terminal; undefined in a pipe, where nothing is cut. */
  readonly columns: number | undefined;
  /** The same of the terminal that shows notices, which is one also where results go into a pipe. */
  readonly noteColumns: number | undefined;
  readonly colours: Colours;
}

export interface TerminalStreams {
  readonly stdin: NodeJS.ReadStream & { readonly fd: number };
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
}

export function createTerminal({ stdin, stdout, stderr, env }: TerminalStreams): Terminal {
  const interactive = stdin.isTTY === true && stderr.isTTY === true;
  const colourful = stdout.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  let hasStatus = false;
  let half = ""; // of a character whose rest comes with the next piece of a result
  /** Nearly all that is written quotes something that is not ours; a pipe gets it as it is. */
  const write = (stream: NodeJS.WriteStream, text: string): void => {
    if (hasStatus) stderr.write("\r\u001b[K");
    hasStatus = false;
    stream.write(stream.isTTY ? escapeForeignControls(text) : text);
  };
  return {
    interactive,
    columns: columnsOf(stdout),
    noteColumns: columnsOf(stderr),
    colours: createColors(colourful),
    status(text) {
      if (!stderr.isTTY || (text === "" && !hasStatus)) return;
      stderr.write(`\r\u001b[K${cutText(escapeControls(text), (stderr.columns || 80) - 1)}`);
      hasStatus = text !== "";
    },
    print: (text) => write(stdout, `${text}\n`),
    write(text) {
      const whole = half + text;
      half = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? "";
      write(stdout, half === "" ? whole : whole.slice(0, -1));
    },
    async drained(signal) {
      await new Promise(setImmediate); // signals are heard meanwhile
      if (stdout.writableNeedDrain) await once(stdout, "drain", { signal });
    },
    draw: (text) => void stdout.write(text),
    note(text) {
      // Whether there are colours is decided by where the results go.
      const isPlain = colourful && !stderr.isTTY;
      write(stderr, `${isPlain ? stripVTControlCharacters(text) : text}\n`);
    },
    printJson: (value) => write(stdout, `${JSON.stringify(value, undefined, 2)}\n`),
    async ask(question, signal) {
      return interactive ? askLine(question, stdin, stderr, signal) : undefined;
    },
    async readSecret(question, signal) {
      return interactive ? typeSecret(question, stdin, stderr, signal) : firstLine(stdin, signal);
    },
  };
}

function columnsOf(stream: NodeJS.WriteStream): number | undefined {
  return stream.isTTY ? Math.max(40, stream.columns || 80) : undefined;
}

/** One line; undefined when the person closes the input instead of answering. */
async function askLine(
  question: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { createInterface } = await import("node:readline"); // loaded by whoever asks, which is hardly anybody
  const lines = createInterface({ input, output, terminal: true });
  return new Promise<string | undefined>((resolve, reject) => {
    lines.once("SIGINT", () => reject(interrupted()));
    lines.once("close", () => resolve(undefined));
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    lines.question(question, resolve);
  }).finally(() => lines.close());
}

const ENTER = new Set(["\r", "\n", "\u0004"]);
const ERASE = new Set(["\u007f", "\b"]);
const CANCEL = "\u0003";

/** One line that the terminal does not show. */
async function typeSecret(
  question: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<string> {
  input.setRawMode(true); // before the question: whoever types ahead must not see it either
  input.setEncoding("utf8");
  output.write(question);
  try {
    return await new Promise<string>((resolve, reject) => {
      let typed = "";
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      input.on("data", (text: string) => {
        for (const character of text) {
          if (ENTER.has(character)) resolve(typed);
          else if (character === CANCEL) reject(interrupted());
          else typed = ERASE.has(character) ? typed.replace(/.$/su, "") : typed + character;
        }
      });
    });
  } finally {
    input.removeAllListeners("data");
    input.setRawMode(false);
    input.pause();
    output.write("\n");
  }
}

function interrupted(): AppError {
  return new AppError("interrupted", "Interrupted; nothing was changed.");
}

async function firstLine(stdin: NodeJS.ReadStream, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of addAbortSignal(signal, stdin)) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n[\s\S]*$/, "");
}
