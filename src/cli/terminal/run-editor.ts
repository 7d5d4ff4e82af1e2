import { AppError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { runAtTerminal } from "./run-at-terminal.ts";

/** Opens a file in the user's editor and resolves when the editor exits. */
export async function runEditor(path: string, { variables, signal }: CommandContext): Promise<void> {
  const editor = variables["VISUAL"] || variables["EDITOR"] || "vi";
  // EDITOR may hold arguments ("code --wait"), so a shell splits it; the path is a positional parameter.
  const code = await runAtTerminal(["/bin/sh", "-c", `${editor} "$1"`, "sh", path], {}, signal);
  signal.throwIfAborted();
  if (code !== 0) {
    throw new AppError(
      "process-unstartable",
      `The editor \`${editor}\` ${code === undefined ? "was stopped by a signal" : `exited with code ${code}`}.`,
      {
        hint: "Set VISUAL or EDITOR to an editor that is installed.",
      },
    );
  }
}
