import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createFileOnce, ensurePrivateFolder, readTextFile } from "../lib/files.ts";
import type { Profile } from "./profile.ts";

/** Random and never copied, so that a renamed profile keeps its sandboxes and a cloned one does not inherit them. */
export const PROFILE_ID_FILE = "profile-id";

/** The profile's id, made on first use; sixteen first uses at once agree on one. */
export async function ensureProfileId(profile: Profile): Promise<string> {
  const known = await findProfileId(profile);
  if (known !== undefined) return known;
  await ensurePrivateFolder(profile.home);
  const id = await createFileOnce(join(profile.home, PROFILE_ID_FILE), newProfileId(), 0o600);
  return id.trim();
}

/** The profile's id, or undefined when nothing has needed one yet. */
export async function findProfileId(profile: Profile): Promise<string | undefined> {
  return (await readTextFile(join(profile.home, PROFILE_ID_FILE)))?.trim() || undefined;
}

export function newProfileId(): string {
  return `${randomBytes(8).toString("hex")}\n`;
}
