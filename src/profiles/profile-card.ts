import { join } from "node:path";
import { parseDocument } from "yaml";
import { AppError } from "../lib/errors.ts";
import { withFileLock } from "../lib/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../lib/files.ts";
import type { Profile } from "./profile.ts";

/** What a profile says of itself, kept in profile.yaml. */
export interface ProfileCard {
  readonly description: string;
  readonly displayName: string;
}

const MAX_DISPLAY_NAME = 64;

export async function loadProfileCard(profile: Profile): Promise<ProfileCard> {
  const document = parseDocument((await readTextFile(cardPath(profile))) ?? "");
  const text = (name: string): string => {
    const value: unknown =
      document.errors.length === 0 && document.hasIn([name]) ? document.getIn([name]) : undefined;
    return typeof value === "string" ? value : "";
  };
  return { description: text("description"), displayName: text("display_name") };
}

/** Changes fields of profile.yaml and leaves what others wrote there. */
export async function saveProfileCard(
  profile: Profile,
  change: Partial<ProfileCard>,
  signal: AbortSignal,
): Promise<void> {
  if ((change.displayName ?? "").length > MAX_DISPLAY_NAME) {
    throw new AppError("profile-name-invalid", `A display name has at most ${MAX_DISPLAY_NAME} characters.`, {
      hint: "Shorten it.",
    });
  }
  const path = cardPath(profile);
  await ensurePrivateFolder(profile.home);
  await withFileLock(
    `${path}.lock`,
    async () => {
      const document = parseDocument((await readTextFile(path)) ?? "");
      if (document.errors.length > 0) {
        throw new AppError("file-unreadable", `${path} is not valid YAML, so it was not changed.`, {
          hint: "Correct or remove it.",
        });
      }
      if (change.description !== undefined) document.set("description", change.description);
      if (change.displayName !== undefined) document.set("display_name", change.displayName);
      await writeFileAtomic(path, document.toString({ lineWidth: 0 }), { mode: 0o600 });
    },
    signal,
  );
}

function cardPath(profile: Profile): string {
  return join(profile.home, "profile.yaml");
}
