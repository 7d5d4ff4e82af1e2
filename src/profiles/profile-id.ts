import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createFileOnce, ensurePrivateFolder, readTextFile } from "../lib/files/files.ts";
import type { Profile } from "./profile.ts";

/** The id is never copied, so that a renamed profile keeps its sandboxes and a clone does not get them. */
export const PROFILE_ID_FILE = "profile-id";

/** The profile's id, created on first use. Concurrent first uses get the same id. */
export async function ensureProfileId(profile: Profile): Promise<string> {
  const known = await findProfileId(profile);
  if (known !== undefined) return known;
  await ensurePrivateFolder(profile.home);
  const id = await createFileOnce(join(profile.home, PROFILE_ID_FILE), createProfileId(), 0o600);
  return id.trim();
}

/** The profile's id; undefined if it has not been created yet. */
export async function findProfileId(profile: Profile): Promise<string | undefined> {
  return (await readTextFile(join(profile.home, PROFILE_ID_FILE)))?.trim() || undefined;
}

export function createProfileId(): string {
  return `${randomBytes(8).toString("hex")}\n`;
}
