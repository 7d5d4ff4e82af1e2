import { spawn } from "node:child_process";
import { AppError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";

/** Opens a file in the user's editor and resolves when the editor exits. */
export async function runEditor(path: string, { variables }: CommandContext): Promise<void> {
  const editor = variables["VISUAL"] || variables["EDITOR"] || "vi";
  // EDITOR may hold arguments ("code --wait"), so a shell splits it; the path is a positional parameter.
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", path], { stdio: "inherit" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) {
    throw new AppError("process-unstartable", `The editor \`${editor}\` exited with code ${code}.`, {
      hint: "Set VISUAL or EDITOR to an editor that is installed.",
    });
  }
}
