import { fstatSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { readStandardInput } from "../../read-standard-input.ts";

const MOST_BYTES = 1024 * 1024;
const TOO_LONG = "Put them into a file and name the file in the task.";

/** The task from its flag or file, with whatever was piped in below it. */
export async function readTask(
  options: { readonly oneshot?: string; readonly query?: string; readonly queryFile?: string },
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
  const piped = queryFile === "-" || isPiped() ? await readStandardInput(MOST_BYTES, TOO_LONG, signal) : "";
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

/** Neither a terminal nor /dev/null is waited for. */
function isPiped(): boolean {
  try {
    const stats = fstatSync(0);
    return stats.isFIFO() || stats.isFile() || stats.isSocket();
  } catch {
    return false; // closed
  }
}
