import { AppError } from "../../lib/errors.ts";

/** The folder that the command was called in. */
export function currentFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new AppError("folder-gone", "The folder that you are in has been removed.", { cause: error });
  }
}
