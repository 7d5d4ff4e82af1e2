/** A file of this machine to copy into an environment. */
export interface OfferedFile {
  readonly hostPath: string;
  /** Relative to the base folder in the environment, separated by `/`. */
  readonly targetPath: string;
  readonly mode: number;
}

/** All files that an environment should have. */
export interface OfferedFiles {
  readonly files: readonly OfferedFile[];
  /** Skipped files with their reasons, as complete sentences. */
  readonly problems: readonly string[];
}

/** The folder below the base with the state of synced files. */
export const STATE_FOLDER = ".hermes-sync";

const MAX_PATH_LENGTH = 1_024;

/** The reason why a target path is not allowed; undefined if it is. */
export function findPathProblem(targetPath: string): string | undefined {
  if (targetPath === "" || targetPath.length > MAX_PATH_LENGTH) return "its name is empty or too long";
  if (/[\p{Cc}\p{Cs}]/u.test(targetPath)) return "its name contains unprintable characters";
  const parts = targetPath.split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    return "its name could lead outside of the folder";
  return parts[0] === STATE_FOLDER ? "this folder is reserved" : undefined;
}
