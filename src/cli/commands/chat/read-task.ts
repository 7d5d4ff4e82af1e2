import { readFile } from "node:fs/promises";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { readPipedInput, readStandardInput } from "../../read-standard-input.ts";
import type { Terminal } from "../../terminal.ts";

const MOST_BYTES = 1024 * 1024;
const TOO_LONG = "Put them into a file and name the file in the task.";

/** The task from its flag or file, with whatever was piped in below it; `input` is `-` to wait for that. */
export async function readTask(
  options: { readonly oneshot?: string; readonly query?: string; readonly queryFile?: string },
  input: "-" | undefined,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<string> {
  const { oneshot, query, queryFile } = options;
  const given = [oneshot, query, queryFile].filter((one) => one !== undefined);
  if (given.length !== 1) {
    throw new AppError(
      "usage-wrong",
      given.length === 0 ? "There is no task." : "There is more than one task.",
      {
        hint: 'Write hermes -z "TASK", or hermes chat -q "TASK", or name a file with --query-file.',
      },
    );
  }
  const read = queryFile === "-" || input === "-" ? readStandardInput : readPipedInput;
  const piped = await read({ mostBytes: MOST_BYTES, hint: TOO_LONG, terminal }, signal);
  const task =
    queryFile === undefined
      ? (oneshot ?? query ?? "")
      : queryFile === "-"
        ? piped
        : await readText(queryFile);
  const context = queryFile === "-" ? "" : piped;
  const text = context.trim() === "" ? task : `${task}\n\n<input>\n${context}\n</input>`;
  if (text.trim() === "") throw new AppError("usage-wrong", "The task is empty.");
  return text;
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
