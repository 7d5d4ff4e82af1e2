import { once } from "node:events";
import { addAbortSignal } from "node:stream";
import { text as readAll } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { createColors } from "picocolors";
import { AppError } from "../../lib/errors.ts";
import { escapeControls, escapeForeignControls } from "./escape-controls.ts";
import { cutText } from "./fit-text.ts";
import { hasColours } from "./has-colours.ts";

export type Colours = ReturnType<typeof createColors>;

/** The user's side of a command: output, questions, width and colours. */
export interface Terminal {
  /** Results. Nothing else is ever written to standard output. */
  print(text: string): void;
  /** A piece of a result, without an end of line. */
  write(text: string): void;
  /** Waits until the reader has consumed the results, so that long ones do not accumulate in memory. */
  waitForReader(signal: AbortSignal): Promise<void>;
  /** Writes a screen made of our own text only. No other method passes escape sequences to a terminal. */
  draw(text: string): void;
  /** Notices, warnings, progress, errors. */
  note(text: string): void;
  printJson(value: unknown): void;
  /** A status line that the next output replaces. Does nothing if notices do not go to a terminal. */
  status(text: string): void;
  /**
   * Discards the text typed so far and waits until typing pauses, so that earlier keystrokes do not answer the next
   * question.
   */
  discardTyped(signal: AbortSignal): Promise<void>;
  /** Asks a question and waits for one line; undefined if the input is not interactive. */
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
  /** A line typed without echo, or the first line of piped input. */
  readSecret(question: string, signal: AbortSignal): Promise<string>;
  readonly interactive: boolean;
  /** Columns of the terminal; undefined in a pipe, where nothing is cut. */
  readonly columns: number | undefined;
  /** Columns of the terminal that shows notices; defined even if results go into a pipe. */
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
  const colourful = hasColours({ stdout, env });
  let hasStatus = false;
  let half = ""; // the first half of a surrogate pair, until the next piece has the second
  /** Escapes control characters on a terminal, because most output quotes untrusted text. A pipe gets the text unchanged. */
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
    async waitForReader(signal) {
      await new Promise(setImmediate); // lets signal handlers run
      if (stdout.writableNeedDrain) await once(stdout, "drain", { signal });
    },
    draw: (text) => void stdout.write(text),
    note(text) {
      // `colours` depends on standard output only.
      const plain = colourful && !stderr.isTTY ? stripVTControlCharacters(text) : text;
      // Escaped in a pipe too: notices are for the user, and a pager or a log viewer shows them on a terminal.
      write(stderr, `${stderr.isTTY ? plain : escapeControls(plain)}\n`);
    },
    printJson: (value) => write(stdout, `${JSON.stringify(value, undefined, 2)}\n`),
    async discardTyped(signal) {
      if (interactive) await discardTyped(stdin, signal);
    },
    async ask(question, signal) {
      return interactive ? askLine(escapeForeignControls(question), stdin, stderr, signal) : undefined;
    },
    async readSecret(question, signal) {
      return interactive ? typeSecret(question, stdin, stderr, signal) : firstLine(stdin, signal);
    },
  };
}

function columnsOf(stream: NodeJS.WriteStream): number | undefined {
  return stream.isTTY ? Math.max(40, stream.columns || 80) : undefined;
}

/** Reads one line; undefined if the user closes the input instead of answering. */
async function askLine(
  question: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { createInterface } = await import("node:readline"); // loaded on demand, because few commands ask
  signal.throwIfAborted(); // the answer may have come from elsewhere meanwhile
  const lines = createInterface({ input, output, terminal: true });
  return new Promise<string | undefined>((resolve, reject) => {
    lines.once("SIGINT", () => reject(interruptedError()));
    lines.once("close", () => resolve(undefined));
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    lines.question(question, resolve);
  }).finally(() => lines.close());
}

/** Longer than the pauses of a person who is typing. */
const QUIET_MS = 500;

async function discardTyped(input: NodeJS.ReadStream, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  let onData: ((data: Buffer | string) => void) | undefined;
  let onAbort: (() => void) | undefined;
  input.setRawMode(true); // also delivers an unfinished line, and does not echo the discarded text
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(resolve, QUIET_MS);
      onData = (data) => {
        if (String(data).includes(CANCEL)) reject(interruptedError());
        else timer?.refresh();
      };
      onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      input.on("data", onData);
      input.resume(); // an earlier question has paused it
    });
  } finally {
    clearTimeout(timer);
    if (onData !== undefined) input.off("data", onData);
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
    input.pause();
    input.setRawMode(false);
  }
}

const ENTER = new Set(["\r", "\n", "\u0004"]);
const ERASE = new Set(["\u007f", "\b"]);
const CANCEL = "\u0003";

/** Reads one line without echo. */
async function typeSecret(
  question: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<string> {
  input.setRawMode(true); // before the question, so that text typed ahead is not echoed either
  input.setEncoding("utf8");
  output.write(question);
  try {
    return await new Promise<string>((resolve, reject) => {
      let typed = "";
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      input.on("data", (text: string) => {
        for (const character of text) {
          if (ENTER.has(character)) resolve(typed);
          else if (character === CANCEL) reject(interruptedError());
          else typed = ERASE.has(character) ? typed.replace(/.$/su, "") : typed + character;
        }
      });
      input.resume(); // an earlier question has paused it
    });
  } finally {
    input.removeAllListeners("data");
    input.setRawMode(false);
    input.pause();
    output.write("\n");
  }
}

function interruptedError(): AppError {
  return new AppError("interrupted", "Interrupted; nothing was changed.");
}

async function firstLine(stdin: NodeJS.ReadStream, signal: AbortSignal): Promise<string> {
  return (await readAll(addAbortSignal(signal, stdin))).replace(/\r?\n[\s\S]*$/, "");
}
