import { join } from "node:path";
import { parseDocument } from "yaml";
import { AppError } from "../lib/errors.ts";
import { withFileLock } from "../lib/files/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../lib/files/files.ts";
import type { Profile } from "./profile.ts";

/** Description and display name of a profile, stored in profile.yaml. */
export interface ProfileDescription {
  readonly description: string;
  readonly displayName: string;
}

const MAX_DISPLAY_NAME = 64;

export async function loadProfileDescription(profile: Profile): Promise<ProfileDescription> {
  const document = parseDocument((await readTextFile(descriptionPath(profile))) ?? "");
  const text = (name: string): string => {
    const value: unknown =
      document.errors.length === 0 && document.hasIn([name]) ? document.getIn([name]) : undefined;
    return typeof value === "string" ? value : "";
  };
  return { description: text("description"), displayName: text("display_name") };
}

/** Updates fields of profile.yaml and keeps all other fields. */
export async function saveProfileDescription(
  profile: Profile,
  fields: Partial<ProfileDescription>,
  signal: AbortSignal,
): Promise<void> {
  if ((fields.displayName ?? "").length > MAX_DISPLAY_NAME) {
    throw new AppError("profile-name-invalid", `A display name has at most ${MAX_DISPLAY_NAME} characters.`, {
      hint: "Shorten it.",
    });
  }
  const path = descriptionPath(profile);
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
      if (fields.description !== undefined) document.set("description", fields.description);
      if (fields.displayName !== undefined) document.set("display_name", fields.displayName);
      await writeFileAtomic(path, document.toString({ lineWidth: 0 }), { mode: 0o600 });
    },
    signal,
  );
}

export function descriptionPath(profile: Profile): string {
  return join(profile.home, "profile.yaml");
}
