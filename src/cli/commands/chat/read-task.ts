import { readFile } from "node:fs/promises";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { readPipedInput, readStandardInput } from "../../terminal/read-standard-input.ts";
import type { Terminal } from "../../terminal/terminal.ts";

const MAX_BYTES = 1024 * 1024;
const TOO_LONG = "Write the input to a file and name the file in the task.";

export interface Task {
  readonly text: string;
  /** The part that the user typed. References are expanded only there, because piped text may come from strangers. */
  readonly typed: string;
}

/**
 * Reads the task from its option or file, and appends the piped input with its secrets masked. If `input` is `-`, waits for the
 * end of the piped input. If the task is `-`, the piped input is the task.
 */
export async function readTask(
  options: { readonly oneshot?: string; readonly query?: string; readonly queryFile?: string },
  input: "-" | undefined,
  { terminal, secrets }: { readonly terminal: Terminal; readonly secrets: readonly string[] },
  signal: AbortSignal,
): Promise<Task> {
  const { oneshot, query } = options;
  const given = [oneshot, query, options.queryFile].filter((one) => one !== undefined);
  if (given.length === 0) throw missingTask();
  if (given.length > 1)
    throw new AppError("usage-wrong", "More than one task was given.", {
      hint: "Give one of -z, -q and --query-file.",
    });
  const queryFile = (oneshot ?? query) === "-" ? "-" : options.queryFile;
  const read = queryFile === "-" || input === "-" ? readStandardInput : readPipedInput;
  const piped = await read({ maxBytes: MAX_BYTES, hint: TOO_LONG, terminal }, signal);
  const task =
    queryFile === undefined
      ? (oneshot ?? query ?? "")
      : queryFile === "-"
        ? piped
        : await readText(queryFile);
  const context = queryFile === "-" || piped.trim() === "" ? "" : await maskSecrets(piped, terminal, secrets);
  const text = context.trim() === "" ? task : `${task}\n\n<input>\n${context}\n</input>`;
  if (text.trim() === "") throw new AppError("usage-wrong", "The task is empty.");
  return { text, typed: queryFile === "-" ? "" : task };
}

/** The error is one line, because its reader is usually a script. */
export function missingTask(): AppError {
  const ways = 'hermes -z "TASK", hermes chat -q "TASK" or hermes chat --query-file FILE';
  return new AppError("usage-wrong", `No task was given, and the chat needs a terminal. Write ${ways}.`, {
    hint: "",
  });
}

async function maskSecrets(text: string, terminal: Terminal, secrets: readonly string[]): Promise<string> {
  const [{ createRedactor }, { findMarks }] = await Promise.all([
    import("../../../lib/redact/redactor.ts"),
    import("../../../lib/redact/redaction-mark.ts"),
  ]);
  const masked = createRedactor({ secrets }).redact(text);
  const count = findMarks(masked).length - findMarks(text).length;
  if (count > 0)
    terminal.note(
      `hermes: ${count} ${count === 1 ? "value in the piped input looks like a secret and was" : "values in the piped input look like secrets and were"} masked.`,
    );
  return masked;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new AppError("file-unreadable", `The task file ${path} cannot be read: ${messageOf(cause)}`, {
      cause,
    });
  }
}
