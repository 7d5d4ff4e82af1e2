/** A file of this machine that an environment should have. */
export interface OfferedFile {
  readonly hostPath: string;
  /** Below the base of the far side, with `/` between its parts. */
  readonly targetPath: string;
  readonly mode: number;
}

/** Everything that an environment should have, as far as it can be offered. */
export interface Offer {
  readonly files: readonly OfferedFile[];
  /** What is left out and why, in sentences. */
  readonly problems: readonly string[];
}

/** Where the far side keeps what it knows about synced files, below the base. */
export const STATE_FOLDER = ".hermes-sync";

const LONGEST_PATH = 1_024;

/** Why a file may not have this name on the far side; undefined when it may. */
export function findPathProblem(targetPath: string): string | undefined {
  if (targetPath === "" || targetPath.length > LONGEST_PATH) return "it is empty or too long";
  if (/[\p{Cc}\p{Cs}]/u.test(targetPath)) return "it has characters that cannot be shown";
  const parts = targetPath.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) return "it could leave its folder";
  return parts[0] === STATE_FOLDER ? "that folder is our own" : undefined;
}
