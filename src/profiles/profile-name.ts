import { AppError } from "../lib/errors.ts";
import { shorten } from "../lib/text/shorten.ts";

/** The profile that is the root home itself. */
export const DEFAULT_PROFILE = "default";

const PATTERN = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** Names that would mislead in a path or on a command line. */
const RESERVED = new Set(["hermes", "test", "tmp", "root", "sudo"]);

/** Normalises a profile name; throws for a text that is not a valid folder name. */
export function parseProfileName(text: string): string {
  const name = text.trim().toLowerCase();
  if (!PATTERN.test(name)) {
    const shown = JSON.stringify(shorten(text, 80));
    throw new AppError("profile-name-invalid", `${shown} cannot be the name of a profile.`);
  }
  return name;
}

/** Like `parseProfileName`, but also refuses names that a new profile may not have. */
export function parseNewProfileName(text: string): string {
  const name = parseProfileName(text);
  if (name === DEFAULT_PROFILE) throw new AppError("profile-exists", "The profile default always exists.");
  if (RESERVED.has(name)) {
    throw new AppError("profile-name-invalid", `${name} is reserved and cannot be the name of a profile.`, {
      hint: "Choose another name.",
    });
  }
  return name;
}
