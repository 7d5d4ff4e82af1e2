import { realpath } from "node:fs/promises";
import { AppError } from "../lib/errors.ts";
import { runProcess } from "../lib/process/process.ts";

/** The project of a folder: the work tree of its outermost repository, or the folder itself if it is in no repository. */
export async function findProject(
  folder: string,
  { home, variables }: { home: string; variables: Readonly<Record<string, string | undefined>> },
  signal: AbortSignal,
): Promise<string> {
  const env = { PATH: variables["PATH"], LC_ALL: "C", HOME: variables["HOME"] };
  const revParse = async (cwd: string, ...args: string[]): Promise<string> =>
    (await runProcess(["git", "rev-parse", ...args], { cwd, env }, signal)).stdout.trim();
  let root = (await revParse(folder, "--show-toplevel")) || folder;
  // A submodule is part of the project that contains it.
  for (let outer = root; outer !== ""; ) {
    root = outer;
    outer = await revParse(root, "--show-superproject-working-tree");
  }
  const real = await realpath(root);
  if (real === "/" || real === (await realpath(home)))
    throw new AppError("checkpoint-failed", `${real} is not a project, so its files are not saved.`, {
      hint: "Start Hermes in the folder of a project.",
    });
  return real;
}
